// SPDX-License-Identifier: BSD-2-Clause
/*
 * gate/report: what python's json and XML parsers, and rules written down from the specifications,
 * say of reports on functions with the worst names there can be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/report.h"
#include "gate_case.h"
#include "judge.h"
#include "temp.h"

#define NR_FUNCTIONS 30
#define NAME	     "a|b<c>&\"'`%2:,]]>\n::error::\r\x1b[31m\xff\xc3\xa9_*"

static void add_run(struct runs *runs, enum run_side side, int seed)
{
	struct run *run = runs_add(runs, "run\n.pb.gz", side);

	runs->type = "cpu";
	runs->unit = "nanoseconds";
	run->content = 1 + seed;
	for (int i = 0; i < NR_FUNCTIONS; i++) {
		double value = side == RUN_HEAD && i < 15 ? 2000 - 50 * i : 1000;
		char name[128];

		value = (value + (seed * 7 + i) % 5) * 1e6;
		snprintf(name, sizeof(name), "%s%d", NAME, i);
		vec_push(&run->cells,
			 (struct run_cell){runs_function(runs, name, "/src/a b,c:%.c", 10 + i),
					   value, value, value * 1e6, value * 1e6});
		run->total += value;
		run->total_variance += value * 1e6;
		run->nr_samples += value / 1e6;
	}
}

static struct runs runs;
static struct gate_result regression, inconclusive, pass;

static int setup(void **state)
{
	struct gate_options options = gate_default_options;

	(void)state;
	for (int i = 0; i < 6; i++)
		add_run(&runs, i % 2 ? RUN_HEAD : RUN_BASE, i);
	gate_check(&runs, &options, &regression);
	options.max_growth = 1000;
	gate_check(&runs, &options, &pass);
	options.min_samples = 1u << 31;
	gate_check(&runs, &options, &inconclusive);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gate_release(&regression);
	gate_release(&pass);
	gate_release(&inconclusive);
	runs_release(&runs);
	return 0;
}

/* Runs a python program with the report on its stdin: it must end well. */
static void judge(report_fn report, const struct gate_result *result, const char *root,
		  const char *program)
{
	struct report_options options = {.source_root = root};
	char *path scoped(freep) = temp_path("report");
	FILE *file = fopen(path, "w");
	char *command scoped(freep) = xasprintf("python3 - %s <<'PROGRAM'\nimport sys\n"
						"data = open(sys.argv[1], 'rb').read()\n"
						"text = data.decode('utf-8')\n%s\nPROGRAM\n",
						path, program);

	assert_non_null(file);
	assert_int_equal(report(result, &options, sink_stream, file), 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(system(command), 0);
}

static void test_text(void **state)
{
	(void)state;
	judge(report_text, &regression, NULL,
	      "lines = text.splitlines()\n"
	      "assert lines[-1] == 'verdict: regression', lines[-1]\n"
	      "assert not any(ord(c) < 32 for line in text.split('\\n') for c in line)\n"
	      "assert lines[2].startswith('regressed ') and lines[2].endswith(' total')\n"
	      "assert sum(l.startswith('regressed') for l in lines) == 16, text\n"
	      "assert any('smallest detectable change: total +' in l for l in lines)");
	judge(report_text, &inconclusive, NULL,
	      "assert 'inconclusive: base has 90,' in text and text.endswith('verdict: "
	      "inconclusive\\n'), text");
}

static void test_json(void **state)
{
	(void)state;
	judge(report_json, &regression, NULL,
	      "import json\n"
	      "d = json.loads(text)\n"
	      "assert d['verdict'] == 'regression' and len(d['regressions']) == 16\n"
	      "assert d['regressions'][0] == 'total'\n"
	      "assert d['base']['runs'] == 3 and len(d['head']['files']) == 3\n"
	      "t = [t for t in d['tests'] if t['outcome'] == 'regressed'][1]\n"
	      "assert t['file'] == '/src/a b,c:%.c' and t['interval95'][0] < t['interval95'][1]\n"
	      "assert 0 <= t['p_grown'] <= t['p_grown_adjusted'] < 0.05\n"
	      "assert '\\x1b[31m' in t['name'] or '1b[31m' in t['name']");
	judge(report_json, &inconclusive, NULL,
	      "import json\n"
	      "d = json.loads(text)\n"
	      "assert d['verdict'] == 'inconclusive' and d['reasons'] and not d['tests']\n"
	      "assert d['detectable']['total_percent'] is None");
}

static void test_markdown(void **state)
{
	(void)state;
	judge(report_markdown, &regression, NULL,
	      "rows = [l for l in text.splitlines() if l.startswith('|')]\n"
	      "assert len(data) < 1 << 20 and len(rows) == 2 + 31, len(rows)\n"
	      "assert all(r.count('|') == 9 for r in rows), rows\n"
	      "assert not any(c in ''.join(rows[2:]) for c in '<>`*[]\\x1b\\\\')\n"
	      "assert text.startswith('### cprof check: regression\\n')");
}

/* actions/toolkit, command.ts: what the runner makes of a line. */
static void test_github(void **state)
{
	(void)state;
	judge(report_github, &regression, "/src/",
	      "lines = text.split('\\n')\n"
	      "assert lines.pop() == '' and len(lines) == 10, len(lines)\n"
	      "for l in lines:\n"
	      "    assert l.startswith('::error ') and '\\r' not in l, l\n"
	      "    properties, message = l[8:].split('::', 1)\n"
	      "    p = dict(x.split('=', 1) for x in properties.split(','))\n"
	      "    assert set(p) <= {'file', 'line', 'title'}, p\n"
	      "    if 'total' not in p['title']:\n"
	      "        assert p['file'] == 'a b%2Cc%3A%25.c' and int(p['line']) >= 10, p\n"
	      "assert lines[0].startswith('::error title=total')\n"
	      "assert 'line=10,' in lines[1], lines[1] # the worst");
	judge(report_github, &pass, NULL, "assert not text, text");
	judge(report_github, &inconclusive, NULL,
	      "assert text.startswith('::error title=cprof check is inconclusive::')");
}

static void test_junit(void **state)
{
	(void)state;
	judge(report_junit, &regression, NULL,
	      "import xml.etree.ElementTree as E\n"
	      "r = E.fromstring(data)\n"
	      "cases = list(r.iter('testcase'))\n"
	      "assert len(cases) == int(r.get('tests')) == 31, len(cases)\n"
	      "failed = [c for c in cases if c.find('failure') is not None]\n"
	      "assert len(failed) == int(r.get('failures')) == 16\n"
	      "assert len({c.get('name') for c in cases}) == 31\n"
	      "assert all(c.get('classname') == 'cprof.cpu' for c in cases)");
	judge(report_junit, &inconclusive, NULL,
	      "import xml.etree.ElementTree as E\n"
	      "r = E.fromstring(data)\n"
	      "assert r.get('errors') == '1' and r.find('.//error') is not None");
}

/* OASIS SARIF 2.1.0: what sections 3.13 to 3.28 require. */
static void test_sarif(void **state)
{
	(void)state;
	judge(report_sarif, &regression, "/src",
	      "import json, re\n"
	      "d = json.loads(text)\n"
	      "assert d['version'] == '2.1.0' and d['$schema'].endswith('sarif-2.1.0.json')\n"
	      "run, = d['runs']\n"
	      "driver = run['tool']['driver']\n"
	      "assert driver['name'] == 'cprof'\n"
	      "assert run['invocations'][0]['executionSuccessful'] is True\n"
	      "assert len(run['results']) == 16\n"
	      "prints = set()\n"
	      "for r in run['results']:\n"
	      "    assert driver['rules'][r['ruleIndex']]['id'] == r['ruleId'] == "
	      "'cpu-regression'\n"
	      "    assert r['level'] == 'error' and r['message']['text']\n"
	      "    prints.add(r['partialFingerprints']['cprofFunction/v1'])\n"
	      "    location, = r['locations']\n"
	      "    assert location['logicalLocations'][0]['fullyQualifiedName']\n"
	      "    physical = location.get('physicalLocation')\n"
	      "    if physical:\n"
	      "        uri = physical['artifactLocation']['uri']\n"
	      "        assert uri == 'a%20b%2Cc%3A%25.c', uri\n"
	      "        assert physical['region']['startLine'] >= 1\n"
	      "assert len(prints) == 16");
	judge(report_sarif, &inconclusive, NULL,
	      "import json\n"
	      "i = json.loads(text)['runs'][0]['invocations'][0]\n"
	      "assert i['executionSuccessful'] is False and i['toolExecutionNotifications']");
}

/* "old" is "new|<&'name" in head; an uncertain move is reported with an option for a shell. */
static void make_moved(struct gate_case *c)
{
	for (int i = -1; i <= 1; i++) {
		gate_case_add(c, RUN_BASE, "main;x", 1500 + i, "main;y", 1000, "main;z", 900,
			      "x;old", 450, NULL);
		gate_case_add(c, RUN_HEAD, "main;x", 1500, "main;y", 1000 + i, "main;z", 900,
			      "y;new|<&'name", 450 - i, NULL);
	}
	gate_case_check(c);
}

static void test_moved(void **state)
{
	struct gate_case c = {.options = gate_default_options};

	(void)state;
	make_moved(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	judge(report_text, &c.result, NULL,
	      "assert '\\nold is now new|<&\\'name (moved), probably' in text, text\n"
	      "option, = [l.split('confirm it: ')[1] for l in text.splitlines() if 'confirm it' in "
	      "l]\n"
	      "import shlex\n"
	      "assert shlex.split(option) == ['--rename', 'old=new|<&\\'name'], option\n"
	      "assert 'regressed' not in text and '-100' not in text, text");
	judge(report_json, &c.result, NULL,
	      "import json\n"
	      "d = json.loads(text)\n"
	      "move, = d['moves']\n"
	      "assert (move['from'], move['to']) == ('old', 'new|<&\\'name'), move\n"
	      "assert move['certain'] is False and move['option'].startswith('--rename '), move\n"
	      "assert d['verdict'] == 'pass' and not d['regressions']\n"
	      "assert {t.get('moved_to') for t in d['tests'] if t['name'] == 'old' and "
	      "t['outcome'] == 'moved'} == {move['to']}");
	judge(report_markdown, &c.result, NULL,
	      "assert '- old is now new&#124;&lt;&amp;\\'name (moved), probably' in text, text\n"
	      "rows = [l for l in text.splitlines() if l.startswith('|')]\n"
	      "assert all(r.count('|') == 9 for r in rows), rows\n"
	      "assert sum('moved from old |' in r for r in rows) == 2, rows");
	judge(report_github, &c.result, NULL,
	      "assert '::error' not in text\n"
	      "assert text.startswith('::notice title=old is now new|<&\\'name (moved)::'), text");
	judge(report_junit, &c.result, NULL,
	      "import xml.etree.ElementTree as E\n"
	      "r = E.fromstring(data)\n"
	      "assert r.get('failures') == '0'\n"
	      "assert [e.text for e in r.iter('system-out')] == ['moved from old'] * 2, text");
	judge(report_sarif, &c.result, NULL,
	      "import json\n"
	      "run, = json.loads(text)['runs']\n"
	      "assert not run['results']\n"
	      "note, = run['invocations'][0]['toolExecutionNotifications']\n"
	      "assert note['level'] == 'note' and 'is now' in note['message']['text']");
	gate_case_release(&c);
}

static void test_remedies(void **state)
{
	(void)state;
	judge(report_text, &inconclusive, NULL,
	      "for word in ('-F', '--reps', '--max-time', '--inconclusive pass'):\n"
	      "    assert word in text, (word, text)");
	judge(report_markdown, &inconclusive, NULL,
	      "assert '--max-time' in text and '--inconclusive pass' in text, text");
	judge(report_github, &inconclusive, NULL,
	      "for line in text.splitlines():\n"
	      "    assert '--inconclusive pass' in line, text");
	judge(report_junit, &inconclusive, NULL,
	      "assert '--max-time' in text and '--inconclusive pass' in text, text");
	judge(report_sarif, &inconclusive, NULL,
	      "assert '--max-time' in text and '--inconclusive pass' in text, text");
}

/* What calls everything repeats the total; the loader is the same in every program. */
static void test_the_same_everywhere(void **state)
{
	struct gate_case c = {.options = gate_default_options};

	(void)state;
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "_start;main;x", 1000 + i, "_start;main;y", 700,
			      "_dl_relocate", 30, NULL);
		gate_case_add(&c, RUN_HEAD, "_start;main;x", 1000 - i, "_start;main;y", 1400,
			      "_dl_relocate", 30, NULL);
	}
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_REGRESSION);
	judge(report_text, &c.result, NULL,
	      "names = [l.split()[-1] for l in text.splitlines()[2:5]]\n"
	      "assert names == ['total', 'y', 'x'], text\n"
	      "assert 'main' not in text and '_dl_' not in text, text");
	judge(report_github, &c.result, NULL,
	      "titles = [l.split('title=')[1].split()[0] for l in text.splitlines()]\n"
	      "assert titles == ['total', 'y'], text");
	judge(report_markdown, &c.result, NULL,
	      "assert sum(l.startswith('|') for l in text.splitlines()) == 2 + 3, text");
	judge(report_junit, &c.result, NULL,
	      "import xml.etree.ElementTree as tree\n"
	      "root = tree.fromstring(text)\n"
	      "cases = [c.get('name') for c in root.iter('testcase')]\n"
	      "failed = [c.get('name') for c in root.iter('testcase') if c.find('failure') is not "
	      "None]\n"
	      "assert sorted(cases) == ['total', 'x', 'y'] and failed == ['total', 'y'], text\n"
	      "assert root.get('tests') == '3' and root.get('failures') == '2', text");
	judge(report_sarif, &c.result, NULL,
	      "import json\n"
	      "results = json.loads(text)['runs'][0]['results']\n"
	      "names = [r['message']['text'].split(':')[0] for r in results]\n"
	      "assert names == ['total', 'y'], names");
	judge(report_json, &c.result, NULL,
	      "import json\n"
	      "assert json.loads(text)['regressions'] == ['total', 'y'], text");
	gate_case_release(&c);
}

static int full_disk(void *ctx, const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	++*(int *)ctx;
	return -ENOSPC;
}

static void test_sink_fails(void **state)
{
	static const report_fn reports[] = {report_text,   report_json,	 report_markdown,
					    report_github, report_junit, report_sarif};
	struct report_options options = {.all = true};

	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		int nr = 0;

		assert_int_equal(reports[i](&regression, &options, full_disk, &nr), -ENOSPC);
		assert_int_equal(nr, 1); /* and nothing after it */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_github),
		cmocka_unit_test(test_junit),
		cmocka_unit_test(test_sarif),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_the_same_everywhere),
		cmocka_unit_test(test_sink_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
