# Whether the text of the book's PDF stands in the middle of its pages: where most lines of prose begin, and as
# far as the longest of these go.
# Usage: awk -f pdf-middle.awk WORDS, what `pdftotext -bbox` writes.
function number(name) {
  match($0, " " name "=\"[^\"]*\"")
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0
}
function close_line() {
  if (begin == "") return
  ++begins[begin]
  if (end > ends[begin]) ends[begin] = end
  begin = ""
}
BEGIN { gap = 12; prose = 13.4; tolerance = 25 }  # points: between columns there is more than the first, and what is lower is no prose
/<page / { close_line(); width = number("width"); next }
/<word / {
  if (number("yMax") - number("yMin") < prose) next
  if (begin == "" || number("yMin") > bottom || number("yMax") < top || number("xMin") > end + gap || number("xMin") < end - gap) {
    close_line()
    begin = int(number("xMin"))
    top = number("yMin")
    bottom = number("yMax")
  }
  end = number("xMax")
}
END {
  close_line()
  for (at in begins) if (begins[at] > most) { most = begins[at]; left = at }
  right = ends[left]
  middle = (left + right) / 2
  if (most > 0 && middle - width / 2 < tolerance && width / 2 - middle < tolerance) exit 0
  print most + 0 " lines begin at " left ", and end at " right " at most: their middle is not that of a page of " width
  exit 1
}
