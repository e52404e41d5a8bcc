# Strings, hashes, sorting and a regular expression, for so many seconds.
words = (0...3000).map { |i| "word#{i * 7919 % 1009}" }
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
  counts = Hash.new(0)
  words.each { |word| counts[word.sub(/(\d)$/) { $1.to_i.succ.to_s }] += 1 }
  counts.sort_by { |word, count| [-count, word] }.map { |pair| pair.join("=") }.join(",").upcase
end
