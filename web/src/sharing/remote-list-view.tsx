import type { ComponentChildren } from 'preact';
import { Button, EmptyState, Spinner } from '../core/controls/controls.tsx';
import type { IconName } from '../core/controls/icon.tsx';
import { explain, text } from '../core/text/index.ts';
import { filter } from '../files/file-list.ts';
import type { RemoteList } from './remote-list.ts';
import { here } from './text/index.ts';

interface RemoteListViewProps<T> {
  list: RemoteList<T[]>;
  /** Shown if the list is empty; null if something else is shown beside the list. */
  empty: { icon: IconName; title: string; body: string } | null;
  children(rows: T[]): ComponentChildren;
}

/** Shows the rows of a remote list, or why there are none. */
export function RemoteListView<T>({ list, empty, children }: RemoteListViewProps<T>) {
  const rows = list.shown.value;
  if (!rows && list.fault.value) {
    return (
      <EmptyState icon="warning" title={explain(list.fault.value, here())}>
        <Button label={text.list.retry} onClick={() => list.read()} />
      </EmptyState>
    );
  }
  if (!rows) return <Spinner label={text.account.loading} />;
  if (rows.length > 0) return <>{children(rows)}</>;
  if (!empty) return null;
  const wanted = filter.value.trim();
  if (wanted !== '') return <EmptyState icon="search" title={text.list.noMatch(wanted)} />;
  return (
    <EmptyState icon={empty.icon} title={empty.title}>
      <p>{empty.body}</p>
    </EmptyState>
  );
}
