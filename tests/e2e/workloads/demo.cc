// SPDX-License-Identifier: BSD-2-Clause
//
// demo SECONDS: what `make demo` profiles. A toy index of documents: text is made, split into words
// and hashed (CPU), postings are kept in memory (heap that stays), queries are scored into short
// lived results (heap that goes), and every 512 documents the old ones are dropped.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace demo {

struct Posting {
	Posting *next;
	uint64_t word;
	uint32_t document, count;
};

class Random {
public:
	uint32_t below(uint32_t limit)
	{
		state_ = state_ * 6364136223846793005u + 1442695040888963407u;
		return static_cast<uint32_t>(state_ >> 33) % limit;
	}

private:
	uint64_t state_ = 1;
};

class Index {
public:
	~Index()
	{
		for (Posting *&head : buckets_)
			while (head)
				drop_first(head);
	}

	void add_document(const char *text, uint32_t document)
	{
		for (const char *word = text; *word;) {
			size_t len = std::strcspn(word, " ");

			add_posting(hash_word(word, len), document);
			word += len + (word[len] == ' ');
		}
	}

	void drop_old(uint32_t before)
	{
		for (Posting *&head : buckets_) {
			Posting **at = &head;

			while (*at) {
				if ((*at)->document < before)
					drop_first(*at);
				else
					at = &(*at)->next;
			}
		}
	}

	// Scores of every document, the caller's to delete.
	uint32_t *score_query(uint64_t word, uint32_t nr_documents) const
	{
		uint32_t *scores = new uint32_t[nr_documents]();

		for (const Posting *p = buckets_[word % BUCKETS]; p; p = p->next)
			if (p->word == word && p->document < nr_documents)
				scores[p->document] += p->count;
		return scores;
	}

	static uint64_t hash_word(const char *word, size_t len)
	{
		uint64_t hash = 14695981039346656037u;

		for (int round = 0; round < 4; round++)
			for (size_t i = 0; i < len; i++)
				hash = (hash ^ static_cast<unsigned char>(word[i])) * 1099511628211u;
		return hash;
	}

private:
	enum { BUCKETS = 4096 };
	Posting *buckets_[BUCKETS] = {};

	void add_posting(uint64_t word, uint32_t document)
	{
		Posting *&head = buckets_[word % BUCKETS];

		if (head && head->word == word && head->document == document) {
			head->count++;
			return;
		}
		head = new Posting{ head, word, document, 1 };
	}

	static void drop_first(Posting *&head)
	{
		Posting *gone = head;

		head = gone->next;
		delete gone;
	}
};

// The caller's to free().
char *make_document(Random &random)
{
	const size_t len = 4096;
	char *text = static_cast<char *>(std::malloc(len));

	for (size_t i = 0; i < len - 1; i++)
		text[i] = i % 6 == 5 ? ' ' : static_cast<char>('a' + random.below(8));
	text[len - 1] = '\0';
	return text;
}

uint32_t best(const uint32_t *scores, uint32_t nr)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < nr; i++)
		if (scores[i] > scores[at])
			at = i;
	return at;
}

uint64_t run(double seconds)
{
	using clock = std::chrono::steady_clock;
	const auto end = clock::now() + std::chrono::duration<double>(seconds);
	Index index;
	Random random;
	uint64_t sum = 0;

	for (uint32_t document = 0; clock::now() < end; document++) {
		char *text = make_document(random);

		index.add_document(text, document);
		for (int query = 0; query < 4; query++) {
			uint32_t *scores = index.score_query(Index::hash_word(text + 6 * query, 5), 4096);

			sum += best(scores, 4096);
			delete[] scores;
		}
		if (document % 512 == 511)
			index.drop_old(document > 512 ? document - 512 : 0);
		std::free(text);
	}
	return sum;
}

} // namespace demo

int main(int argc, char **argv)
{
	std::printf("%llu\n", static_cast<unsigned long long>(demo::run(argc > 1 ? std::atof(argv[1]) : 12)));
	return 0;
}
