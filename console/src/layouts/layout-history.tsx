import { History } from '../components/history.tsx';
import { useList } from '../components/use-list.ts';
import { pages, read } from '../queries.ts';
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
  const list = useList(
    prj
      ? pages('/api/o/{org}/p/{prj}/l/{layout}/versions/', { path: { org, prj, layout } })
      : pages('/api/o/{org}/l/{layout}/versions/', { path: { org, layout } }),
  );
  return (
    <History
      title={texts.layoutHistory}
      list={list}
      readVersion={version =>
        prj
          ? read('/api/o/{org}/p/{prj}/l/{layout}/versions/{version}/', { path: { org, prj, layout, version } })
          : read('/api/o/{org}/l/{layout}/versions/{version}/', { path: { org, layout, version } })
      }
      toText={version => version.body}
      draft={body}
      restore={restore}
      close={close}
    />
  );
}
