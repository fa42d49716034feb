import type { Signal } from '@preact/signals';

/** Returns an event handler that sets a signal to a fixed value. */
export const setTo =
  <T>(target: Signal<T>, value: NoInfer<T>) =>
  () => {
    target.value = value;
  };

/** Returns a callback that writes its argument to a signal. */
export const writeTo =
  <T>(target: Signal<T>) =>
  (value: NoInfer<T>) => {
    target.value = value;
  };

/** Returns attributes that bind a text field to a signal, in both directions. */
export const boundTo = (target: Signal<string>) => ({
  value: target.value,
  onInput(event: { currentTarget: { value: string } }) {
    target.value = event.currentTarget.value;
  },
});
