/** Asks for confirmation, for example before a deletion. */
import { Modal, ModalFoot } from './controls.tsx';

const SHOWN_NAMES = 5;

export interface ConfirmProps {
  title: string;
  body: string;
  names: string[];
  act: string;
  onAct(): void;
  onClose(): void;
}

export function Confirm({ title, body, names, act, onAct, onClose }: ConfirmProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <ul class="names">
        {names.slice(0, SHOWN_NAMES).map((name) => (
          <li key={name}>
            <bdi>{name}</bdi>
          </li>
        ))}
        {names.length > SHOWN_NAMES && <li>…</li>}
      </ul>
      <p>{body}</p>
      <ModalFoot
        act={act}
        danger
        onCancel={onClose}
        onAct={() => {
          onClose();
          onAct();
        }}
      />
    </Modal>
  );
}
