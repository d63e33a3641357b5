# What stands badly on the pages of the book's PDF: a heading, of a section or in the list of contents, or a caption at the end of a page, without
# what it heads; a break-it box that a page cuts; a page whose head does not say which part of the book it is of.
# Usage: awk -f pdf-pages.awk TITLES WORDS, the titles of the parts, a line each, and what `pdftotext -bbox` writes.
function number(name) {
  match($0, " " name "=\"[^\"]*\"")
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0
}

function complain(what) {
  print "page " pages ": " what
  wrong = 1
}

# A page's lines in the column of the text: a line begins at the left edge, where no side note does. They are kept in the order in which they
# stand on the page, which is not the one in which they are written.
function close_line(    i) {
  if (words == "") return
  if (top < margin) head = words
  else if (bottom < foot) {
    for (i = ++lines; i > 1 && lowest[i - 1] > bottom; --i) {
      text[i] = text[i - 1]
      height[i] = height[i - 1]
      lowest[i] = lowest[i - 1]
    }
    text[i] = words
    height[i] = tallest
    lowest[i] = bottom
  }
  words = ""
}

function close_page(    i, caption) {
  close_line()
  if (lines > 0 && (height[lines] > heading || text[lines] ~ /^(Part [IVX]+|Appendices)$/)) complain("ends with the heading \"" text[lines] "\"")
  for (i = lines; i > 0 && height[i] > small && height[i] < prose; --i)
    if (text[i] ~ /^(Listing|Table) [0-9A-Z]+[.][0-9]+[.] /) caption = text[i]
  if (caption != "") complain("ends with the caption \"" caption "\"")
  if (lines > 0 && text[1] ~ /^Then (this test fails|it does not compile):/) complain("begins amid an experiment: \"" text[1] "\"")
  if (head == title[part + 1]) ++part
  else if (head != title[part]) complain("its head says \"" head "\", in the part \"" title[part] "\"")
}

BEGIN {
  heading = 16; prose = 13.4; small = 11.5  # points: a heading is higher than the first, a caption between the others
  left = 300; margin = 50; foot = 795  # a line begins left of the first; a running head begins above, a page's number ends below
}
FILENAME == ARGV[1] { title[++titles] = $0; next }
/<page / {
  if (pages > 0) close_page()
  ++pages
  lines = 0
  head = ""
}
/<word / {
  beside = words != "" && number("yMax") - bottom < 4 && bottom - number("yMax") < 4
  if (!beside) {
    close_line()
    if (number("xMin") > left) next
    top = number("yMin")
    bottom = number("yMax")
    tallest = 0
  }
  word = $0
  sub(/^[^>]*>/, "", word)
  sub(/<.*$/, "", word)
  words = words (words == "" ? "" : " ") word
  if (number("yMax") - number("yMin") > tallest) tallest = number("yMax") - number("yMin")
}
END {
  close_page()
  if (part < titles) complain("the last one; no page has the head \"" title[part + 1] "\"")
  if (titles < 2) complain("there are no titles of parts")
  exit wrong
}
