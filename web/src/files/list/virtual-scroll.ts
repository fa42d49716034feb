import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** State of a scroller that renders only visible rows. `look` measures it; `focusOn` scrolls to a row and focuses it. */
export function useSight<View>(look: (scroller: HTMLElement) => View, before: View) {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useSignal(before);
  const measure = () => {
    view.value = look(scroller.current!);
  };

  useLayoutEffect(() => {
    const element = scroller.current!;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  /** Focuses before the next event, so that the next key press always goes to the new row. */
  const focusOn = (index: number, top: number, height: number) => {
    const element = scroller.current!;
    const over = top + height - element.clientHeight;
    element.scrollTop = Math.min(top, Math.max(over, element.scrollTop));
    measure();
    // Runs after the render that `measure` queued, which may create the row.
    queueMicrotask(() => element.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus());
  };
  return { scroller, view, focusOn };
}
