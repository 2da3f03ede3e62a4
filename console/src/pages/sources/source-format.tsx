/** The formats of sources, and the state of a payload. */
import { sourcePresets } from '../../api-types.ts';
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/sources.ts';

/** For a select. Empty: the source has a mapping only. */
export const formats = [
  ...Object.entries(sourcePresets).map(([value, label]) => ({ value, label })),
  { value: '', label: texts.ownMapping },
];

const colors: Record<string, string> = {
  received: 'yellow',
  taken: 'teal',
  partly: 'orange',
  rejected: 'red',
  refused: 'red',
};

export function PayloadState({ state }: { state: string }) {
  return (
    <Mark color={colors[state] ?? 'gray'} meaning={texts.stateMeanings[state]}>
      {texts.states[state] ?? state}
    </Mark>
  );
}
