/** A button that asks once more before it acts. */
import { useSignal } from '@preact/signals';
import { Confirm, type ConfirmProps } from './confirm.tsx';
import { IconButton, type IconButtonProps } from './controls.tsx';

type AskingProps = Omit<IconButtonProps, 'onClick'> & { question: Omit<ConfirmProps, 'onClose'> };

export function AskingButton({ question, ...button }: AskingProps) {
  const asking = useSignal(false);
  const ask = (now: boolean) => () => {
    asking.value = now;
  };
  return (
    <>
      <IconButton {...button} onClick={ask(true)} />
      {asking.value && <Confirm {...question} onClose={ask(false)} />}
    </>
  );
}
