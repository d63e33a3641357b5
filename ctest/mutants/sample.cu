// A program for the test of `mutants`, without a kernel.
#define TILE_CHAPTER(number)
extern "C" int puts(const char*);

// [snippet config]
constexpr int SIZE = 4;  // 4 elements
static_assert(SIZE > 0, "SIZE + 1 is positive, too");
// [/snippet config]

// [snippet launch]
int sum(const int* A, int rows, bool twice) {
  int total = 0;
  for (int row = 0; row < rows && row < SIZE; ++row) total += A[row];
  const bool doubled =
      twice && rows > 1;  // a term begins the line
  if (doubled) total *= 2;
  return twice ? total : total % 8;
}
// [/snippet launch]

TILE_CHAPTER(0)

int main() {
  const int A[SIZE + 5] = {1, 2, 3, 4, 0, 7};
  puts("TEST CASE:  sums");
  return sum(A, 2, false) == 3 && sum(A, 2, true) == 6 && sum(A, 1, true) == 1 && sum(A, 9, false) == 2 ? 0 : 1;
}
