/** Version history of a notification's message. */
import { api, take } from '../api.ts';
import type { MessageVersion } from '../api-types.ts';
import { History } from '../components/history.tsx';
import { useList } from '../components/use-list.ts';
import type { EventPath } from '../events/sample.ts';
import { texts } from '../texts/designer.ts';
import { type Draft, toText } from './draft.ts';

interface VersionsProps {
  path: EventPath;
  notification: number;
  draft: Draft;
  restore: (version: MessageVersion) => void;
  close: () => void;
}

const all = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/versions/' as const;

export function Versions({ path, notification, draft, restore, close }: VersionsProps) {
  const params = { ...path, notification };
  const list = useList({
    key: [path.org, 'versions', notification],
    fetch: (query, signal) => api.GET(all, { params: { path: params, query }, signal }),
  });
  return (
    <History
      title={texts.messageHistory}
      list={list}
      versionKey={[path.org, 'version', notification]}
      fetch={(version, signal) =>
        take(api.GET(`${all}{version}/`, { params: { path: { ...params, version } }, signal }))
      }
      toText={toText}
      draft={toText(draft)}
      restore={restore}
      close={close}
    />
  );
}
