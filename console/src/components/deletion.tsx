/** Deleting: what goes with it is shown first, and what still refers to it stands in the way. */
import { Alert, Anchor, Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type QueryKey, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import { Link } from 'react-router';
import { ApiError } from '../api.ts';
import type { Deleted } from '../api-types.ts';
import { useOrg } from '../places.ts';
import { texts } from '../texts/common.ts';
import { useAction } from './actions.tsx';
import { FormFailure } from './form.tsx';
import { Failure, Waiting } from './states.tsx';

interface DeletionProps {
  opened: boolean;
  onClose: () => void;
  /** As in a sentence: `the channel mail`. */
  what: string;
  /** Words that have to be typed, for what is large; or whether that is so, by what would be gone. */
  typed?: string | ((deleted: Deleted['deleted']) => string | undefined);
  /** Asked with `dryRun` first. */
  run: (options: { dryRun: boolean }) => Promise<Deleted>;
  refresh?: QueryKey[];
  onDeleted: () => void;
  /** Whether `onDeleted` leaves the page: then what it shows is not asked for again. */
  leaves?: boolean;
  /** What stays. */
  children?: React.ReactNode;
}

export function Deletion(props: DeletionProps) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={texts.deleteWord(props.what)}>
      {props.opened && <Question {...props} />}
    </Modal>
  );
}

/** For `typed`: only where more than the thing itself would be gone. */
export function typedIfMore(noun: string, words: string): (deleted: Deleted['deleted']) => string | undefined {
  return deleted => {
    const more = Object.entries(deleted).some(([kind, count]) => count > (kind === noun ? 1 : 0));
    return more ? words : undefined;
  };
}

function Question({
  what,
  typed: toType,
  run,
  refresh = [],
  onDeleted,
  leaves = false,
  onClose,
  children,
}: DeletionProps) {
  const queries = useQueryClient();
  const id = useId();
  const form = useForm({ initialValues: { text: '' } });
  const { text } = form.values;
  const trial = useQuery({
    queryKey: ['deletion', id],
    queryFn: () => run({ dryRun: true }),
    gcTime: 0,
    retry: false,
  });
  const removal = useAction({
    run: () => run({ dryRun: false }),
    done: texts.deleted(what),
    refresh: leaves ? [] : refresh,
    quiet: true,
    onDone: () => {
      if (leaves) for (const queryKey of refresh) void queries.invalidateQueries({ queryKey, refetchType: 'none' });
      onClose();
      onDeleted();
    },
  });
  const typed = typeof toType === 'function' ? toType(trial.data?.deleted ?? {}) : toType;
  const uses = usesOf(trial.error) ?? usesOf(removal.error);
  if (trial.isPending) return <Waiting label={texts.checkingWhatWillBeDeleted} />;
  if (uses) return <InTheWay what={what} uses={uses} onClose={onClose} />;
  if (trial.error) return <Failure error={trial.error} retry={() => void trial.refetch()} />;
  return (
    <form
      onSubmit={form.onSubmit(() => {
        if (!typed || text === typed) removal.mutate(undefined);
      })}
    >
      <Stack gap="sm">
        <Text size="sm">{texts.thisCannotBeUndoneItDeletes}</Text>
        <List size="sm">
          {Object.entries(trial.data?.deleted ?? {})
            .filter(([, count]) => count > 0)
            .map(([noun, count]) => (
              <List.Item key={noun}>
                {count.toLocaleString('en')} {nounOf(noun, count)}
              </List.Item>
            ))}
        </List>
        {children && (
          <Text component="div" size="sm" c="dimmed">
            {children}
          </Text>
        )}
        {typed && (
          <TextInput
            label={texts.typeToConfirm(typed)}
            {...form.getInputProps('text')}
            autoComplete="off"
            data-autofocus
          />
        )}
        <FormFailure error={removal.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {texts.cancel}
          </Button>
          <Button
            type="submit"
            color="red.8"
            loading={removal.isPending}
            disabled={typed !== undefined && text !== typed}
          >
            {texts.deleteWord2}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function InTheWay({ what, uses, onClose }: { what: string; uses: Uses; onClose: () => void }) {
  const org = useOrg();
  return (
    <Stack gap="sm">
      <Alert color="yellow" title={texts.stillInUse}>
        <Text size="sm">{texts.cannotBeDeletedWhileItIs(what.charAt(0).toUpperCase() + what.slice(1))}</Text>
      </Alert>
      {Object.entries(uses).map(([noun, those]) => (
        <div key={noun}>
          <Text size="sm" fw={600}>
            {Array.isArray(those) ? nounOf(noun, 2) : `${those} ${nounOf(noun, those)}`}
          </Text>
          {Array.isArray(those) && (
            <List size="sm">
              {those.map(path => (
                <List.Item key={path}>
                  <Anchor component={Link} to={placeOf(org, path)} onClick={onClose} className="mono" inherit>
                    {path}
                  </Anchor>
                </List.Item>
              ))}
            </List>
          )}
        </div>
      ))}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {texts.close}
        </Button>
      </Group>
    </Stack>
  );
}

type Uses = Record<string, number | string[]>;

function usesOf(error: unknown): Uses | undefined {
  if (!(error instanceof ApiError) || error.code !== 'resource.in_use') return undefined;
  return (error.problem.uses ?? {}) as Uses;
}

/** A notification's path leads to its event. */
function placeOf(org: string, path: string): string {
  const [prj, app, evt] = path.split('/').map(encodeURIComponent);
  return evt ? `/o/${encodeURIComponent(org)}/p/${prj}/a/${app}/e/${evt}` : `/o/${encodeURIComponent(org)}`;
}

/** `distribution_lists` is distribution lists, and one of them a distribution list. */
function nounOf(noun: string, count: number): string {
  const words = noun.replaceAll('_', ' ');
  if (count !== 1) return words;
  return words.replace(/(ies|(?<=ss)es|s)$/, ending => (ending === 'ies' ? 'y' : ''));
}
