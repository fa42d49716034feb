import { LoadError } from './error.ts';

/** Decodes a body sent with `Transfer-Encoding: chunked`. Does not support trailers, which none of the servers sends. */
export class ChunkedBody {
  done = false;
  #line = '';
  #left = 0;
  #state: 'size' | 'data' | 'data-end' | 'last' = 'size';

  /** Returns the pieces of the body in `data`. Throws if anything follows the end of the body. */
  feed(data: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    for (let at = 0; at < data.length; ) {
      if (this.done) throw new LoadError('bytes after the last chunk');
      if (this.#state === 'data') {
        const piece = data.subarray(at, at + this.#left);
        pieces.push(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'data-end';
        continue;
      }
      const newline = data.indexOf(0x0a, at);
      this.#line += data.toString('latin1', at, newline < 0 ? data.length : newline);
      if (newline < 0) break;
      at = newline + 1;
      this.#endLine(this.#line.trimEnd());
      this.#line = '';
    }
    return pieces;
  }

  #endLine(line: string): void {
    if (this.#state === 'size') {
      if (!/^[0-9a-fA-F]+$/.test(line)) throw new LoadError(`the chunk size "${line}"`);
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? 'last' : 'data';
    } else {
      if (line !== '') throw new LoadError('a chunk that is longer than its size');
      if (this.#state === 'last') this.done = true;
      this.#state = 'size';
    }
  }
}
