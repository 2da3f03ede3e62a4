/** Deletes a resource after showing what is deleted with it. Remaining references block the deletion. */
import { Alert, Anchor, Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import { Link } from 'react-router';
import { ApiError } from '../api.ts';
import type { Deleted } from '../api-types.ts';
import { useOrg } from '../paths.ts';
import { loadOnce, type PathPrefix, refreshAll } from '../queries.ts';
import { texts } from '../texts/common.ts';
import { useAction } from './actions.tsx';
import { FormFailure } from './form.tsx';
import { Failure, Loading } from './states.tsx';

interface DeletionProps {
  opened: boolean;
  onClose: () => void;
  /** Noun phrase for a sentence: `the channel mail`. */
  what: string;
  /** Text to type for confirmation, or a function that decides it from what would be deleted. */
  confirmText?: string | ((deleted: Deleted['deleted']) => string | undefined);
  /** Called with `dryRun` first. */
  run: (options: { dryRun: boolean }) => Promise<Deleted>;
  refresh?: PathPrefix[];
  onDeleted: () => void;
  /** Whether `onDeleted` leaves the page; then its queries are not refetched. */
  leaves?: boolean;
  /** Describes what is kept. */
  children?: React.ReactNode;
}

export function Deletion(props: DeletionProps) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={texts.deleteQuestion(props.what)}>
      {props.opened && <DeletionForm {...props} />}
    </Modal>
  );
}

/** For `confirmText`: asks for the text only when more than the resource itself would be deleted. */
export function confirmTextIfMore(noun: string, text: string): (deleted: Deleted['deleted']) => string | undefined {
  return deleted => {
    const more = Object.entries(deleted).some(([kind, count]) => count > (kind === noun ? 1 : 0));
    return more ? text : undefined;
  };
}

function DeletionForm({
  what,
  confirmText: confirmTextOption,
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
  const preview = useQuery({
    ...loadOnce(['deletion', id], () => run({ dryRun: true })),
    retry: false,
  });
  const removal = useAction({
    run: () => run({ dryRun: false }),
    done: texts.deleted(what),
    refresh: leaves ? [] : refresh,
    silent: true,
    onDone: () => {
      if (leaves) void refreshAll(queries, refresh, 'none');
      onClose();
      onDeleted();
    },
  });
  const confirmText =
    typeof confirmTextOption === 'function' ? confirmTextOption(preview.data?.deleted ?? {}) : confirmTextOption;
  const uses = usesOf(preview.error) ?? usesOf(removal.error);
  if (preview.isPending) return <Loading label={texts.checkingWhatWillBeDeleted} />;
  if (uses) return <BlockingUses what={what} uses={uses} onClose={onClose} />;
  if (preview.error) return <Failure error={preview.error} retry={() => void preview.refetch()} />;
  return (
    <form
      onSubmit={form.onSubmit(() => {
        if (!confirmText || text === confirmText) removal.mutate(undefined);
      })}
    >
      <Stack gap="sm">
        <Text size="sm">{texts.deletionWarning}</Text>
        <List size="sm">
          {Object.entries(preview.data?.deleted ?? {})
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
        {confirmText && (
          <TextInput
            label={texts.typeToConfirm(confirmText)}
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
            disabled={confirmText !== undefined && text !== confirmText}
          >
            {texts.delete}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function BlockingUses({ what, uses, onClose }: { what: string; uses: Uses; onClose: () => void }) {
  const org = useOrg();
  return (
    <Stack gap="sm">
      <Alert color="yellow" title={texts.stillInUse}>
        <Text size="sm">{texts.stillInUseHint(what.charAt(0).toUpperCase() + what.slice(1))}</Text>
      </Alert>
      {Object.entries(uses).map(([noun, referrers]) => (
        <div key={noun}>
          <Text size="sm" fw={600}>
            {Array.isArray(referrers) ? nounOf(noun, 2) : `${referrers} ${nounOf(noun, referrers)}`}
          </Text>
          {Array.isArray(referrers) && (
            <List size="sm">
              {referrers.map(path => (
                <List.Item key={path}>
                  <Anchor component={Link} to={pageOf(org, path)} onClick={onClose} className="mono" inherit>
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

/** Returns the page for a path; a notification's path leads to its event. */
function pageOf(org: string, path: string): string {
  const [prj, app, evt] = path.split('/').map(encodeURIComponent);
  return evt ? `/o/${encodeURIComponent(org)}/p/${prj}/a/${app}/e/${evt}` : `/o/${encodeURIComponent(org)}`;
}

/** `distribution_lists` becomes "distribution lists", or "distribution list" for one. */
function nounOf(noun: string, count: number): string {
  const label = noun.replaceAll('_', ' ');
  if (count !== 1) return label;
  return label.replace(/(ies|(?<=ss)es|s)$/, ending => (ending === 'ies' ? 'y' : ''));
}
