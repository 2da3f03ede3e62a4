import type { MessageVersion } from '../api-types.ts';
import { History } from '../components/history.tsx';
import { useList } from '../components/use-list.ts';
import type { EventPath } from '../events/sample.ts';
import { pages, read } from '../queries.ts';
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
  const list = useList(pages(all, { path: params }));
  return (
    <History
      title={texts.messageHistory}
      list={list}
      readVersion={version => read(`${all}{version}/`, { path: { ...params, version } })}
      toText={toText}
      draft={toText(draft)}
      restore={restore}
      close={close}
    />
  );
}
