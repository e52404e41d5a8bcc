<?php
// Strings, arrays, sorting and a regular expression, for so many seconds.
function tally(array $words): array
{
    $counts = [];
    foreach ($words as $word) {
        $key = preg_replace_callback('/\d$/', fn($m) => (string)($m[0] + 1), $word);
        $counts[$key] = ($counts[$key] ?? 0) + 1;
    }
    arsort($counts);
    return $counts;
}

$words = array_map(fn($i) => "word" . ($i * 7919 % 1009), range(0, 2999));
for ($limit = microtime(true) + (float)$argv[1]; microtime(true) < $limit;) {
    strlen(strtoupper(json_encode(tally($words)))) + crc32(serialize($words));
}
