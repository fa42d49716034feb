import type { Signal } from '@preact/signals';

/** An event handler that sets a signal. */
export const setTo =
  <T>(target: Signal<T>, value: NoInfer<T>) =>
  () => {
    target.value = value;
  };

/** A callback that writes what it gets into a signal. */
export const writeTo =
  <T>(target: Signal<T>) =>
  (value: NoInfer<T>) => {
    target.value = value;
  };

/** Attributes that keep a text field and a signal in step. */
export const boundTo = (target: Signal<string>) => ({
  value: target.value,
  onInput(event: { currentTarget: { value: string } }) {
    target.value = event.currentTarget.value;
  },
});
