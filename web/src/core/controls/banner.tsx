import { connected, online } from '../connection.ts';
import { text } from '../text/index.ts';
import { Icon } from './icon.tsx';

/** Says that nothing comes through at the moment. */
export function Banner() {
  if (connected.value) return null;
  return (
    <p class="banner" role="status">
      <Icon name="offline" />
      {online.value ? text.state.unreachable : text.state.offline}
    </p>
  );
}
