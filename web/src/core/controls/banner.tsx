import { connected, online } from '../connection.ts';
import { text } from '../text/index.ts';
import { Icon } from './icon.tsx';

/** Shown while the browser is offline or the server cannot be reached. */
export function Banner() {
  if (connected.value) return null;
  return (
    <p class="banner" role="status">
      <Icon name="offline" />
      {online.value ? text.state.unreachable : text.state.offline}
    </p>
  );
}
