/** Zoom and position of a picture, in CSS pixels from the center of its stage. At scale 1 the picture fits the stage. */
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
/** Maximum zoom, relative to the natural or the fitted size, whichever is larger. */
const MOST = 8;

export class Zoom {
  readonly view = signal<View>(FIT);
  readonly isZoomed = computed(() => this.view.value.scale > 1);
  /** Fitted size divided by natural size. */
  readonly #fitted = signal(1);
  /** Current size in percent of the natural size. */
  readonly percent = computed(() => Math.round(this.view.value.scale * this.#fitted.value * 100));
  #stage: Size = { width: 1, height: 1 };
  #picture: Size = { width: 1, height: 1 };

  /** Sets the size of the stage and of the fitted picture. */
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

  /** Zooms to the natural size, but at least to twice the fitted size; or back to fit. */
  toggle(point: Point): void {
    if (this.isZoomed.peek()) this.reset();
    else this.by(Math.max(2, 1 / this.#fitted.peek()), point);
  }
}
