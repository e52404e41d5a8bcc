-- SPDX-License-Identifier: BSD-2-Clause
create table t(id integer primary key, a integer, b text);
create index t_b on t(b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
	insert into t select i, i * 7919 % 10007, printf('%08x-%s', i * 31, hex(i)) from n;
select count(*), sum(x.a) from t x join t y on x.a = y.id where y.b like '%3%';
select a, count(*), group_concat(b) from t group by a order by 2 desc, 1 limit 5;
select a, avg(id) over (partition by a % 100 order by id rows 10 preceding) from t
	order by 2 desc limit 5;
create trigger tr after update on t begin insert into u values (new.id, old.b); end;
create table u(id integer, b text);
update t set b = upper(b) || a where id % 3 = 0;
with recursive fib(a, b, n) as (select 0, 1, 0 union all select b, (a + b) % 1000007, n + 1
	from fib where n < 200000) select max(a) from fib;
select json_group_array(json_object('id', id, 'b', b)) like '%x%' from t;
delete from t where id % 2;
