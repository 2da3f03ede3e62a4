/** Version history of a layout. */
import { api, take } from '../api.ts';
import { History } from '../components/history.tsx';
import { useList } from '../components/use-list.ts';
import { texts } from '../texts/layouts.ts';

interface LayoutHistoryProps {
  org: string;
  prj: string | undefined;
  layout: number;
  /** Body in the editor. */
  body: string;
  restore: (version: { version: number; body: string }) => void;
  close: () => void;
}

export function LayoutHistory({ org, prj, layout, body, restore, close }: LayoutHistoryProps) {
  const list = useList({
    key: [org, 'layout-versions', prj ?? '', layout],
    fetch: (query, signal) =>
      prj
        ? api.GET('/api/o/{org}/p/{prj}/l/{layout}/versions/', {
            params: { path: { org, prj, layout }, query },
            signal,
          })
        : api.GET('/api/o/{org}/l/{layout}/versions/', { params: { path: { org, layout }, query }, signal }),
  });
  return (
    <History
      title={texts.layoutHistory}
      list={list}
      versionKey={[org, 'layout-version', prj ?? '', layout]}
      fetch={(version, signal) =>
        prj
          ? take(
              api.GET('/api/o/{org}/p/{prj}/l/{layout}/versions/{version}/', {
                params: { path: { org, prj, layout, version } },
                signal,
              }),
            )
          : take(
              api.GET('/api/o/{org}/l/{layout}/versions/{version}/', {
                params: { path: { org, layout, version } },
                signal,
              }),
            )
      }
      toText={version => version.body}
      draft={body}
      restore={restore}
      close={close}
    />
  );
}
