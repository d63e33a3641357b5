# A record, which is JSON of one value a line, as items of a list, each with the number of its line as an address, and as its value where
# lines before it are left out: closing brackets stand behind what they close, and folded are lists of more than `most` numbers, lists of
# objects that hold nothing further, and, within an element of a list, objects that then hold nothing further either.
# Usage: awk -f record-page.awk RECORD.json
function item(number, text,    indent) {
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  match(text, /^ */)
  indent = RLENGTH
  printf "%s<li id=L-%d%s>", shown ? "\n" : "", number, number == shown + 1 ? "" : " value=" number
  for (; indent >= tab; indent -= tab) printf "\t"
  printf "%*s%s", indent, "", substr(text, RLENGTH + 1)
  shown = number
}

# "[44 numbers]" for a longer list than is shown.
function shortened(text,    list, n, parts, from) {
  if (!(from = match(text, /\[-?[0-9][^]"]*\]/))) return text
  list = substr(text, from + 1, RLENGTH - 2)
  n = split(list, parts, /, /)
  return n <= most ? text : substr(text, 1, from) n " numbers" substr(text, from + length(list) + 1)
}

# The last line of the object, or the list of objects, that begins in a line, if its parts hold nothing further; else 0. Sets `parts_of`
# that line, their number.
function end_of_object(first,    at, n) {
  for (at = first + 1; line[at] ~ /^ *"[^"]*": /; ++at) {
    ++n
    if (line[at] ~ /\{$/ || (line[at] ~ /\[$/ && !(at = end_of_list(at)))) return 0
  }
  parts_of[first] = n
  return n && line[at] ~ /^ *\},?$/ ? at : 0
}
function end_of_list(first,    at, n, end) {
  for (at = first + 1; line[at] ~ /^ *\{$/ && (end = end_of_object(at)); at = end + 1) ++n
  parts_of[first] = n
  return n && line[at] ~ /^ *\],?$/ ? at : 0
}

function closing(number) {
  return substr(line[number], match(line[number], /[]}]/))
}

BEGIN { most = 4; tab = 10; deep = 10 }
{ line[NR] = $0 }
END {
  for (i = 1; i <= NR; ++i) {
    if (line[i] ~ /^ *[]}],?$/) {
      printf "%s", closing(i)
    } else if (line[i] ~ /\[$/ && (end = end_of_list(i))) {
      item(i, line[i] parts_of[i] (parts_of[i] == 1 ? " object" : " objects") closing(end))
      i = end
    } else if (match(line[i], /^ */) >= 0 && RLENGTH >= deep && line[i] ~ /": \{$/ && (end = end_of_object(i))) {
      item(i, line[i] parts_of[i] (parts_of[i] == 1 ? " value" : " values") closing(end))
      i = end
    } else {
      item(i, shortened(line[i]))
    }
  }
  printf "\n"
}
