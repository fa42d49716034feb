/** How files are cut into volumes. */
import type { LayoutVector } from './kinds.ts';

const MIB = 1024 * 1024;
/** Cut volume by volume, as a writer does that does not know the end. */
function cut(size: number, volumeSize: number, late = volumeSize): Omit<LayoutVector, 'size'> {
  let [count, offset, stored] = [0, 0, 0];
  for (;;) {
    count++;
    const length = Math.min(count <= 1000 ? volumeSize : late, size - offset);
    stored += 56 + length + 16 * Math.max(1, Math.ceil(length / 262_144));
    if (offset + length === size) {
      const last = { offset, length };
      const counted = { volume_count: count, last, stored_size: stored };
      return { volume_size: volumeSize, late_volume_size: late, ...counted };
    }
    offset += length;
  }
}
const early = 1000 * 8 * MIB;
export const layouts: LayoutVector[] = [
  ...[0, 1, 8 * MIB, 8 * MIB + 1, 80_000 * MIB].map((size) => ({ size, ...cut(size, 8 * MIB) })),
  { size: 80_000 * MIB + 1, ...cut(80_000 * MIB + 1, 9 * MIB) },
  { size: 100_000 * MIB, ...cut(100_000 * MIB, 10 * MIB) },
  { size: 150, wish: 64, ...cut(150, 64) },
  { size: 700_000, wish: 64, ...cut(700_000, MIB) },
  { size: 600_000, wish: 262_143, ...cut(600_000, 262_143) },
  { size: 600_000, wish: 262_144, ...cut(600_000, 262_144) },
  { size: 600_000, wish: 262_145, ...cut(600_000, 524_288) },
  ...[0, 1, early, early + 1, early + 64 * MIB, early + 64 * MIB + 1, early + 9000 * 64 * MIB].map(
    (size) => ({
      size,
      stream: true,
      ...cut(size, 8 * MIB, 64 * MIB),
    }),
  ),
  { size: 5, wish: 64, stream: true, ...cut(5, 262_144, 64 * MIB) },
  { size: 5, wish: 100 * MIB, stream: true, ...cut(5, 100 * MIB) },
];
