#!/bin/sh
# What page-checks.js and browser.cpp are to find on a page is found on one that has it all, and not on the page as it was.
# Usage: page-checks.sh BROWSER CHROMIUM BOOK-DIRECTORY CHECKS-DIRECTORY
set -e
browser=$1 chromium=$2 book=$3 checks=$4
[ -x "$chromium" ] || { echo "skipped: chromium is not installed (sudo apt-get install chromium)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/book"
cp -r "$book"/*.js "$book/style.css" "$book/fonts" "$scratch/book"
cp "$book/00.html" "$scratch/book/index.html"  # where searches are tried
cp "$book/03.html" "$scratch/book/03.html"

# A fault a line: what is to be said of it, a tab, and what is put at the end of the page.
cat >"$scratch/faults" <<'END_OF_FAULTS'
a label lies on another one	<figure class="drawing"><svg viewBox="0 0 100 20" width="100"><text x="10" y="15" font-size="14">under</text><text x="15" y="15" font-size="14">over</text></svg></figure>
a label ends outside of its drawing	<figure class="drawing"><svg viewBox="0 0 100 20" width="100"><text x="90" y="15" font-size="14">outside</text></svg></figure>
parts of a drawing stand beside each other on a phone	<figure class="drawing"><div class="panels" style="flex-wrap: nowrap"><svg viewBox="0 0 100 20" width="100"></svg><svg viewBox="0 0 100 20" width="100"></svg></div></figure>
parts of a drawing stand below each other, where there is room	<figure class="drawing"><div class="panels" style="display: block"><svg viewBox="0 0 100 20" width="100"></svg><svg viewBox="0 0 100 20" width="100"></svg></div></figure>
what may be very much is not folded	<details class="folded" open><summary>all</summary><p id="folded-place">x</p></details>
a finding without an address	<section class="settled">x</section>
a choice is wider than its control	<div class="live"><div class="controls"><label><span>x</span><select style="width: 3rem"><option>a choice of many words</option></select></label></div></div>
an edit is wider than its frame	<div class="diff"><div class="code"><pre style="width: 3000px">x</pre></div></div>
a word of an edit is broken	<div class="diff"><pre style="width: 5rem; white-space: pre-wrap; overflow-wrap: anywhere"><span class="line-number">7</span><span class="line" style="display: block">a_word_that_is_broken</span></pre></div>
a line of an edit begins below its number	<div class="diff"><pre style="width: 5rem; white-space: pre-wrap"><span class="line-number">8</span><span class="line">  a_word_below</span></pre></div>
an edit shows an empty comment	<div class="diff"><pre><span class="line-number">9</span><span class="line">int a,  //</span></pre></div>
the full stop of a label is covered	<figure><figcaption><strong style="letter-spacing: 0">Figure 9.2.</strong></figcaption></figure>
words that belong together are on two lines	<p style="width: 3rem"><code style="overflow-wrap: anywhere">--an-option</code></p>
words that belong together are on two lines: pages	<p style="width: 5rem">pages 10000–20000</p>
words that belong together are on two lines: rows	<table><tr><td><div style="width: 5rem">rows 10000–20000</div></td></tr></table>
an operator stands below its formula	<p style="width: 1rem"><math><mi>x</mi></math>&nbsp;+ y</p>
an address is broken before its host	<p class="csl-entry" style="width: 4rem"><a href="https://example.org/x">https://example.org/x</a></p>
a link to a heading stands alone	<h2 style="width: 4rem">Why is it so?<br><a class="permalink">#</a></h2>
short program text is broken	<p style="width: 4rem"><code>a + b + c + d + e</code></p>
short program text is broken: col ^ ((row	<p style="width: 4rem"><code>col ^ ((row >> 1) << 3)</code></p>
a wide page says twice what stands beside it	<figure class="drawing"><div class="panels"><svg class="row-again" style="display: block !important" viewBox="0 0 100 20" width="100"></svg></div></figure>
a phone shows	<figure class="drawing"><div class="scroll" style="overflow-x: auto"><svg viewBox="0 0 600 20" style="width: 600px"></svg></div><figcaption>x</figcaption></figure>
nothing tells that there is more at the side	<div style="overflow-x: auto"><div style="width: 3000px">x</div></div>
no words tell that there is more at the side	<figure><div style="overflow-x: auto"><div style="width: 3000px">x</div></div></figure>
the shade at an edge is not seen on --panel, dark	<style>@media (prefers-color-scheme: dark) { :root { --edge: #000b !important; } }</style>
a narrow column of text	<table><tr><td><div style="width: 3rem">words that wrap and wrap and wrap and wrap and wrap and wrap</div></td></tr></table>
a reference is broken	<p style="width: 3rem">See <a href="03.html">chapter 03</a></p>
a column is wider than all of its words, and another one wraps	<table><tr><td style="min-width: 15rem">a</td><td><div style="width: 3rem">words that wrap</div></td></tr></table>
typed, not set: "3 x 4"	<p>A tile of 3 x 4 elements.</p>
typed, not set: "M x N"	<table><thead><tr><th>M x N x K</th></tr></thead></table>
typed, not set: "- "	<table><tr><td>- / 2</td></tr></table>
typed, not set: "l % 4"	<p>Lane l % 4.</p>
typed, not set: "d µs"	<p>It surprised µs.</p>
typed, not set: "1-2"	<p>It takes 1-2 ms.</p>
typed, not set: "(-3"	<p>It gains (-3 percent).</p>
a sentence begins with a small letter	<p><a href="03.html">chapter 03</a> has it.</p>
a sentence begins with a small letter: It was told	<p>It was told. <a href="03.html">chapter 03</a> tells it.</p>
a column without a head	<figure><table><thead><tr><th>a</th><th></th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></figure>
a report ends in rubbish, has half a quotation or an address of one run	<pre class="captured">C[0][0] is 3, the reference -6 (bound 0) ==  )</pre>
a bracket that grows in a line of text	<p><math><mo stretchy="true">(</mo></math></p>
typed, not set: "8x8"	<p>A tile of 8x8 elements.</p>
typed, not set: "x c"	<table><thead><tr><th>x cuBLAS</th></tr></thead></table>
a gap beside an operator that has its own	<p><math><mspace width="1em"></mspace><mo>mod</mo></math></p>
the name of a control is not level with its neighbour's	<div class="live"><div class="controls"><label class="wide"><span>a</span><input></label><label><span style="position: relative; top: -4px">b</span><input></label></div></div>
a wrapped title in the contents does not begin where it began	<div class="toc"><a style="width: 6rem; text-indent: 1rem"><span class="section-number">1.1</span> many words that wrap</a></div>
a title in the contents touches its number	<div class="toc"><a style="padding-left: 0"><span class="section-number">1.1</span> title</a></div>
a term is not marked	<p><label class="term" style="border: 0">x</label><input type="checkbox"><span class="side-note definition">x</span></p>
a definition is not in the margin	<p><label class="term">x</label><input type="checkbox"><span class="side-note definition" style="display: none">x</span></p>
of the 3000 pixels of a figure	<figure class="drawing"><div class="scroll"><div style="width: 3000px">x</div></div><figcaption>x</figcaption></figure>
a part of a bar is not seen on its page, light	<figure class="drawing"><svg viewBox="0 0 9 9" width="9"><rect class="segment" width="9" height="9" style="fill: var(--accent)" fill-opacity="0.4"/></svg></figure>
parts of a bar are not told apart, dark	<figure class="drawing"><svg viewBox="0 0 9 9" width="9"><rect class="segment" width="4" height="9" style="fill: var(--third)"/><rect class="segment" x="4" width="4" height="9" style="fill: var(--second)"/></svg></figure>
digits are not tabular-nums	<p style="font-variant-numeric: lining-nums">thread 11</p>
bold letters as light as the text's	<style>@font-face { font-family: "Book"; src: url("fonts/latinmodern-math.otf"); font-weight: 600 700; }</style>
a table of few rows is wider than a phone	<figure class="data-table"><div class="scroll"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><div style="width: 3000px">2</div></td></tr></tbody></table></div></figure>
parts of a drawing are wider than a phone	<figure class="drawing"><div class="scroll"><div class="panels"><svg viewBox="0 0 9 9" style="--natural: 500px; --legible: 500px"></svg></div></div></figure>
a bracket may end a line before a formula	<p>of (<math><mi>x</mi></math> or y)</p>
a chapter without an interactive figure	
the page is laid out differently in the dark	<style>@media (prefers-color-scheme: dark) { article p { font-weight: bold; } }</style>
is not tried on both sides of it: (min-width: 700px)	<script>matchMedia("(min-width: 700px)");</script>
contrast of 1.00 in .faint	<p><code class="faint" style="color: rgb(1, 2, 3); background: rgb(1, 2, 3)">x</code></p>
a font of the system's	<p>See <a href="03.html"><em><span style="font-family: sans-serif">here</span></em></a>.</p>
04.html#nowhere	<p><a href="#nowhere">x</a></p>
id used twice: "here"	<p id="here">x</p><p id="here">y</p>
END_OF_FAULTS

cut -f2 "$scratch/faults" >"$scratch/end"
sed -e "/<\/article>/{
r $scratch/end
N
}" -e '/src="explorer.js"/d; /src="lookups.js"/d' "$scratch/book/03.html" >"$scratch/book/04.html"
"$browser" "$chromium" "$scratch/book" "$checks" >"$scratch/said" || :
grep '^03.html: ' "$scratch/said" >"$scratch/before" || :
grep '^04.html: ' "$scratch/said" >"$scratch/after" || :

tab=$(printf '\t')
wrong=0
while IFS=$tab read -r complaint fault; do
  grep -qF "$complaint" "$scratch/before" && { echo "said of a page without it: $complaint"; wrong=1; }
  grep -qF "$complaint" "$scratch/after" || { echo "not said: $complaint"; wrong=1; }
done <"$scratch/faults"
[ "$wrong" = 0 ] && echo "$(wc -l <"$scratch/faults") faults are found"
exit "$wrong"
