/** How a picture lies in its stage: as it fits, or larger and moved. All in CSS pixels, from the middle of the stage. */
import { computed, signal } from '@preact/signals';

interface View {
  scale: number;
  x: number;
  y: number;
}
export interface Point {
  x: number;
  y: number;
}
interface Size {
  width: number;
  height: number;
}

const FIT: View = { scale: 1, x: 0, y: 0 };
const STEP = 1.5;
/** How much larger than its own pixels a picture can be made; and at least this much larger than it fits. */
const MOST = 8;

export class Zoom {
  readonly view = signal<View>(FIT);
  readonly isZoomed = computed(() => this.view.value.scale > 1);
  /** One pixel of the picture, in pixels of the stage, where it fits. */
  readonly #fitted = signal(1);
  /** Of its own size, in percent. */
  readonly percent = computed(() => Math.round(this.view.value.scale * this.#fitted.value * 100));
  #stage: Size = { width: 1, height: 1 };
  #picture: Size = { width: 1, height: 1 };

  /** The room there is, and the picture as it fits in it. */
  measure(stage: Size, picture: Size, naturalWidth: number): void {
    this.#stage = stage;
    this.#picture = picture;
    this.#fitted.value = naturalWidth > 0 ? picture.width / naturalWidth : 1;
    this.#set(this.view.peek());
  }

  #set({ scale, x, y }: View): void {
    const most = Math.max(MOST, MOST / this.#fitted.peek());
    const bounded = Math.min(Math.max(scale, 1), most);
    const far = (room: number, size: number) => Math.max(0, (size * bounded - room) / 2);
    const within = (value: number, limit: number) => Math.min(Math.max(value, -limit), limit);
    this.view.value = {
      scale: bounded,
      x: within(x, far(this.#stage.width, this.#picture.width)),
      y: within(y, far(this.#stage.height, this.#picture.height)),
    };
  }

  /** Zooms around this point. */
  by(factor: number, { x: px, y: py }: Point = { x: 0, y: 0 }): void {
    const { scale, x, y } = this.view.peek();
    const next = Math.max(1, scale * factor);
    const ratio = next / scale;
    this.#set({ scale: next, x: px - (px - x) * ratio, y: py - (py - y) * ratio });
  }

  in(): void {
    this.by(STEP);
  }

  out(): void {
    this.by(1 / STEP);
  }

  reset(): void {
    this.view.value = FIT;
  }

  pan(dx: number, dy: number): void {
    const { scale, x, y } = this.view.peek();
    this.#set({ scale, x: x + dx, y: y + dy });
  }

  /** To its own pixels, or twice as large as it fits, and back. */
  toggle(point: Point): void {
    if (this.isZoomed.peek()) this.reset();
    else this.by(Math.max(2, 1 / this.#fitted.peek()), point);
  }
}
