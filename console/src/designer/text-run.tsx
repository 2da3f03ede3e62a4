/** A run of formatted text in a chat preview. */
import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';

export interface RunProps {
  text: string;
  bold?: boolean;
  italic?: boolean;
  strike?: boolean;
  code?: boolean;
  large?: boolean;
  url?: string;
}

export function Run({ text, bold, italic, strike, code, large, url }: RunProps): ReactNode {
  let shown: ReactNode = text;
  if (code) shown = <code className="mono">{shown}</code>;
  if (bold) shown = <b>{shown}</b>;
  if (italic) shown = <i>{shown}</i>;
  if (strike) shown = <s>{shown}</s>;
  if (large) shown = <span style={{ fontSize: '1.15em' }}>{shown}</span>;
  if (!url) return shown;
  return (
    <Anchor href={url} target="_blank" rel="noreferrer" inherit underline="always">
      {shown}
    </Anchor>
  );
}
