import { dialog } from '../page/actions.ts';
import { bytes } from '../page/format.ts';
import { dirs, go, items, type Place, place, quota } from '../page/shelf.ts';
import { number, text } from '../text.ts';
import { IconButton, PlainName } from './controls.tsx';
import { Icon, type IconName } from './icon.tsx';

interface PlaceLinkProps {
  to: Place;
  icon: IconName;
  name: string;
  count: number;
  verified?: boolean;
  onGo(): void;
}

function PlaceLink({ to, icon, name, count, verified = true, onGo }: PlaceLinkProps) {
  const current = place.value === to;
  return (
    <button
      type="button"
      class="place"
      aria-current={current ? 'page' : undefined}
      onClick={() => {
        go(to);
        onGo();
      }}
    >
      <Icon name={icon} />
      <span class="place-name">
        <bdi>{name}</bdi>
        {!verified && <PlainName hint={text.places.unverifiedHint} />}
      </span>
      <span class="place-count">{number(count)}</span>
    </button>
  );
}

function QuotaBar() {
  const now = quota.value;
  if (!now) return null;
  const { used_bytes: used, quota_bytes: all, percent } = now;
  const words = text.quota.of(bytes(used), bytes(all));
  return (
    <div class="quota">
      <div class="quota-words">
        <span>{text.quota.label}</span>
        <span>{words}</span>
      </div>
      <div
        role="meter"
        class={`quota-bar ${percent >= 90 ? 'full' : ''}`}
        aria-valuenow={Math.min(100, percent)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={words}
        aria-label={text.quota.label}
      >
        <span style={{ width: `${Math.min(100, percent)}%` }} />
      </div>
      {percent >= 100 && <p class="quota-over">{text.quota.over}</p>}
    </div>
  );
}

export function Places({ onGo }: { onGo(): void }) {
  const loose = items.value.filter((item) => !item.dirId).length;
  return (
    <nav class="places" aria-label={text.places.title}>
      <div class="places-list">
        <PlaceLink to="all" icon="files" name={text.places.all} count={items.value.length} onGo={onGo} />
        <PlaceLink to="root" icon="file" name={text.places.root} count={loose} onGo={onGo} />
        <div class="places-title">
          <h2>{text.places.title}</h2>
          <IconButton
            icon="folderAdd"
            label={text.places.make}
            onClick={() => {
              dialog.value = { kind: 'make-dir' };
            }}
          />
        </div>
        {dirs.value.map(({ dirId, name, verified, fileCount }) => (
          <div class="place-row" key={dirId}>
            <PlaceLink
              to={dirId}
              icon="folder"
              name={name}
              count={fileCount}
              verified={verified}
              onGo={onGo}
            />
            <IconButton
              icon="trash"
              class="place-remove"
              label={text.places.remove(name)}
              onClick={() => {
                dialog.value = { kind: 'remove-dir', dirId, name, count: fileCount };
              }}
            />
          </div>
        ))}
      </div>
      <QuotaBar />
    </nav>
  );
}
