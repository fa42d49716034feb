/** A set of volume numbers as text: `1-5,8`. */
export function formatRanges(numbers: Iterable<number>): string {
  const ranges: string[] = [];
  let start = 0;
  let end = 0;
  const close = () => {
    if (end > 0) ranges.push(start === end ? `${start}` : `${start}-${end}`);
  };
  for (const number of [...numbers].sort((a, b) => a - b)) {
    if (number !== end + 1 || end === 0) {
      close();
      start = number;
    }
    end = number;
  }
  close();
  return ranges.join(',');
}

export function* parseRanges(text: string): Generator<number> {
  if (text === '') return;
  for (const range of text.split(',')) {
    const [start, end = start] = range.split('-').map(Number);
    for (let number = start!; number <= end!; number++) yield number;
  }
}
