/** Form fields for a second variant of the message, which is compared with the first one in the sample of a canary. */
import { Select, Stack, Switch } from '@mantine/core';
import { CodeField } from '../editor/code.tsx';
import { texts } from '../texts/canary.ts';
import type { LocalizedMessageText } from './draft.ts';
import { errorAt } from './errors.ts';

export interface DraftVariants {
  winnerBy: 'clicks' | 'acknowledgements';
  /** Empty texts are as in the message. */
  message: LocalizedMessageText;
  /** Not shown; kept as they are. */
  overrides: Record<string, LocalizedMessageText>;
}

interface VariantsProps {
  variants: DraftVariants | null;
  change: (variants: DraftVariants | null) => void;
  errors: Record<string, string[]>;
}

const noVariants: DraftVariants = { winnerBy: 'clicks', message: {}, overrides: {} };
const winners = [
  { value: 'clicks', label: texts.clicks },
  { value: 'acknowledgements', label: texts.acknowledgements },
] as const;
const path = 'canary/variants';

export function VariantsFields({ variants, change, errors }: VariantsProps) {
  const edit = (changes: Partial<DraftVariants>) => change({ ...(variants ?? noVariants), ...changes });
  return (
    <Stack gap="xs">
      <Switch
        label={texts.compareTwo}
        description={texts.compareTwoHint}
        checked={variants !== null}
        onChange={event => change(event.currentTarget.checked ? noVariants : null)}
        error={errorAt(errors, path)}
      />
      {variants && (
        <>
          <Select
            label={texts.winnerBy}
            data={winners}
            value={variants.winnerBy}
            onChange={value => edit({ winnerBy: value as DraftVariants['winnerBy'] })}
            allowDeselect={false}
            maw={320}
            error={errorAt(errors, `${path}/winner_by`)}
          />
          <CodeField
            label={texts.subjectOfB}
            language="liquid"
            singleLine
            value={variants.message.subject ?? ''}
            onChange={subject => edit({ message: { ...variants.message, subject } })}
            error={errorAt(errors, `${path}/b/message/subject`)}
          />
          <CodeField
            label={texts.bodyOfB}
            description={texts.bodyOfBHint}
            language="liquid"
            value={variants.message.body ?? ''}
            onChange={body => edit({ message: { ...variants.message, body } })}
            error={errorAt(errors, `${path}/b/message/body`) ?? errorAt(errors, `${path}/b/message`)}
          />
        </>
      )}
    </Stack>
  );
}
