-- program: cases_and_lengths
SELECT UPPER(s), LOWER(s), CHAR_LENGTH(s), CHARACTER_LENGTH(s) FROM (VALUES ('Straße of gold'), (''), (CAST(NULL AS STRING))) AS t (s);
-- program: initcap
SELECT INITCAP('hello big WORLD-wide x2y');
-- program: initcap_beyond_ascii
-- differs: letters beyond ASCII are letters here, in Flink they end a word
SELECT INITCAP('straße');
-- program: concatenation
SELECT 'a' || 'b', CONCAT('a', 'b', 'c'), CONCAT_WS('-', 'a', 'b'), CONCAT('a', CAST(NULL AS STRING)), CONCAT_WS('-', 'a', CAST(NULL AS STRING), 'b');
-- program: substrings
SELECT SUBSTRING(s FROM 2), SUBSTRING(s FROM 2 FOR 3), SUBSTR(s, 2, 2), SUBSTRING(s, -3), LEFT(s, 2), RIGHT(s, 2), LEFT(s, 0) FROM (VALUES ('millrace'), ('a')) AS t (s);
-- program: trimming
SELECT TRIM(s), TRIM(LEADING 'x' FROM 'xxaxx'), TRIM(TRAILING 'x' FROM 'xxaxx'), TRIM(BOTH 'x' FROM 'xxaxx'), LTRIM(s), RTRIM(s), BTRIM('xyaxy', 'xy') FROM (VALUES ('  a b ')) AS t (s);
-- program: padding_and_repeating
SELECT LPAD('hi', 4, '??'), RPAD('hi', 4, '??'), LPAD('hi', 1, '?'), REPEAT('ab', 3), REVERSE('abc');
-- program: finding
SELECT POSITION('b' IN 'abcb'), LOCATE('b', 'abcb', 3), INSTR('Corporate Floor', 'or'), INSTR('abc', 'z');
-- program: replacing
SELECT REPLACE('hello world', 'world', 'flink'), OVERLAY('This is an old string' PLACING ' new' FROM 10 FOR 5), TRANSLATE('www.apache.org', 'wapcheorg', ' APCHEcom');
-- program: regular_expressions
SELECT REGEXP('abc', 'b'), REGEXP_REPLACE('foobar', 'oo|ar', ''), REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2), REGEXP_EXTRACT('foothebar', 'x(.*)', 1);
-- program: regular_expressions_that_count
SELECT REGEXP_COUNT('abcabc', 'b.'), REGEXP_INSTR('hello', 'l+'), REGEXP_SUBSTR('x12y345', '[0-9]+'), REGEXP_EXTRACT_ALL('a1b22', '([0-9]+)', 1);
-- program: codes
SELECT ASCII('abc'), ASCII(''), CHR(97), CHR(353), ENCODE('ab', 'UTF-8'), DECODE(ENCODE('ab', 'UTF-16BE'), 'UTF-16BE');
-- program: base64_and_hashes
SELECT TO_BASE64('hello world'), FROM_BASE64('aGVsbG8gd29ybGQ='), MD5('a'), SHA1('a'), SHA224('a'), SHA256('a'), SHA384('a'), SHA512('a'), SHA2('a', 256);
-- program: splitting
SELECT SPLIT_INDEX('a,b,c', ',', 1), SPLIT_INDEX('a,b,c', ',', 7), STR_TO_MAP('k1=v1,k2=v2'), STR_TO_MAP('k1:v1;k2:v2', ';', ':'), SPLIT('a,b', ',');
-- program: urls
SELECT PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'HOST'), PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'QUERY', 'k1'),
  URL_ENCODE('a b&c'), URL_DECODE('a%20b%26c');
-- program: predicates
SELECT IS_ALPHA('abc'), IS_ALPHA('a1'), IS_DIGIT('12'), IS_DECIMAL('1.5'), IS_DECIMAL('x'), STARTSWITH('abc', 'ab'), ENDSWITH('abc', 'bc');
-- program: elt_and_printf
SELECT ELT(2, 'a', 'b', 'c'), ELT(9, 'a'), PRINTF('%s has %d', 'ada', 3), SOUNDEX_NO FROM (VALUES (1)) AS t (SOUNDEX_NO);
-- program: levenshtein_is_no_function
SELECT LEVENSHTEIN('a', 'b');
-- program: nulls
SELECT UPPER(s), s || 'x', SUBSTRING(s, 1), REPLACE(s, 'a', 'b'), LPAD(s, 3, 'x'), REGEXP_EXTRACT(s, 'a', 0) FROM (VALUES (CAST(NULL AS STRING))) AS t (s);
