# SPDX-License-Identifier: BSD-2-Clause
# A perl at work: regexes with code, sort with a block, closures, formats, local hashes, eval.
use strict;
use warnings;
use List::Util qw(reduce shuffle);
use Digest::SHA qw(sha256_hex);

sub ack { my ($m, $n) = @_; no warnings 'recursion';
	return $m == 0 ? $n + 1 : $n == 0 ? ack($m - 1, 1) : ack($m - 1, ack($m, $n - 1)); }

my $end = time + $ARGV[0];
while (time < $end) {
	my %count;
	my $text = join ' ', map { sprintf '%x-%s', $_, sha256_hex($_) } 1 .. 3000;
	$count{lc $1}++ while $text =~ /([a-f]+\d)/g;
	my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } shuffle keys %count;
	my $sum = reduce { $a + $b } map { $count{$_} } @order;
	(my $copy = $text) =~ s/(\d+)/$1 % 7 ? $1 : "<$1>"/ge;
	eval("sub { $sum + \$_[0] }")->(1);
	ack(2, 30);
}
