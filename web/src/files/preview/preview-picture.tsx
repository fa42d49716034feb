import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Point, Zoom } from './zoom.ts';

/** Zoom per unit of deltaY. One notch of a mouse wheel is about 100. */
const PER_WHEEL = 0.0025;
/** Zoom per unit of deltaY for a pinch on a touchpad, whose values are about ten times smaller. */
const PER_PINCH = 0.01;

interface PictureProps {
  url: string;
  name: string;
  zoom: Zoom;
  onFail(): void;
}

const distance = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y);
const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });

/** A picture that can be zoomed by wheel, pinch or double click, and moved by dragging. */
export function Picture({ url, name, zoom, onFail }: PictureProps) {
  const stage = useRef<HTMLDivElement>(null);
  const image = useRef<HTMLImageElement>(null);
  const fingers = useRef(new Map<number, Point>());

  const measure = () => {
    // An image may fire its load event after it was removed from the page.
    if (!image.current || !stage.current) return;
    const { offsetWidth, offsetHeight, naturalWidth } = image.current;
    const { clientWidth: width, clientHeight: height } = stage.current;
    zoom.measure({ width, height }, { width: offsetWidth, height: offsetHeight }, naturalWidth);
  };

  const at = (event: MouseEvent): Point => {
    const { left, top, width, height } = stage.current!.getBoundingClientRect();
    return { x: event.clientX - left - width / 2, y: event.clientY - top - height / 2 };
  };

  useLayoutEffect(() => {
    const element = stage.current!;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      zoom.by(Math.exp(-event.deltaY * (event.ctrlKey ? PER_PINCH : PER_WHEEL)), at(event));
    };
    // Not passive, because preventDefault must stop the browser from scrolling or zooming the whole page.
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener('wheel', onWheel);
    };
  }, [zoom]);

  const onPointerMove = (event: PointerEvent) => {
    const all = fingers.current;
    const before = all.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    const other = [...all].find(([id]) => id !== event.pointerId)?.[1];
    all.set(event.pointerId, now);
    if (all.size > 2) return;
    if (!other) return zoom.pan(now.x - before.x, now.y - before.y);
    const [from, to] = [middle(before, other), middle(now, other)];
    zoom.pan(to.x - from.x, to.y - from.y);
    zoom.by(distance(now, other) / Math.max(1, distance(before, other)), to);
  };
  const onPointerEnd = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
  };

  const { scale, x, y } = zoom.view.value;
  return (
    <div
      ref={stage}
      class={`picture ${zoom.isZoomed.value ? 'zoomed' : ''}`}
      onPointerDown={(event) => {
        if (event.button > 0) return;
        stage.current!.setPointerCapture(event.pointerId);
        fingers.current.set(event.pointerId, at(event));
      }}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerEnd}
      onPointerCancel={onPointerEnd}
      onDblClick={(event) => zoom.toggle(at(event))}
    >
      <img
        ref={image}
        src={url}
        alt={name}
        draggable={false}
        style={{ transform: `translate(${x}px, ${y}px) scale(${scale})` }}
        onLoad={measure}
        onError={onFail}
      />
    </div>
  );
}
