/** The dialogs that approve and reject an occurrence. */
import { NumberInput, Radio, Stack, Text, TextInput } from '@mantine/core';
import { api, take } from '../api.ts';
import type { Hold } from '../api-types.ts';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import type { PathPrefix } from '../queries.ts';
import { texts } from '../texts/approvals.ts';

const maxPerSecond = 100_000;
const maxReasonLength = 500;
const refresh: PathPrefix[] = ['/api/o/{org}/occurrence/', '/api/o/{org}/holds/'];

interface DecisionProps {
  org: string;
  hold: Pick<Hold, 'occurrence' | 'channels' | 'counted'>;
  close: () => void;
}

export function ApprovalDialog({ org, hold, close }: DecisionProps) {
  const total = hold.channels.reduce((sum, { messages }) => sum + messages, 0);
  const path = { org, identifier: hold.occurrence };
  const approving = useApiForm({
    initialValues: { how: 'now', perSecond: 50 as number | string },
    run: ({ how, perSecond }) =>
      take(
        api.POST('/api/o/{org}/occurrence/{identifier}/hold/approve/', {
          params: { path },
          body: how === 'slowly' ? { per_second: Number(perSecond) } : {},
        }),
      ),
    done: texts.approved,
    refresh,
    onDone: close,
  });
  const { form } = approving;
  return (
    <FormModal
      of={approving}
      title={hold.counted ? texts.approveQuestion(total) : texts.approveUncountedQuestion}
      submit={texts.approve}
      permission="occurrence:approve"
      close={close}
    >
      <Text size="sm">{texts.approveHint}</Text>
      <Radio.Group aria-label={texts.pace} {...form.getInputProps('how')}>
        <Stack gap="xs">
          <Radio value="now" label={texts.sendNow} />
          <Radio value="slowly" label={texts.sendSlowly} />
          {form.values.how === 'slowly' && (
            <NumberInput
              label={texts.perSecond}
              min={1}
              max={maxPerSecond}
              allowDecimal={false}
              maw={200}
              ml={28}
              {...form.getInputProps('perSecond')}
            />
          )}
        </Stack>
      </Radio.Group>
    </FormModal>
  );
}

export function RejectionDialog({ org, hold, close }: DecisionProps) {
  const path = { org, identifier: hold.occurrence };
  const rejecting = useApiForm({
    initialValues: { reason: '' },
    run: ({ reason }) =>
      take(
        api.POST('/api/o/{org}/occurrence/{identifier}/hold/reject/', {
          params: { path },
          body: reason.trim() ? { reason } : {},
        }),
      ),
    done: texts.rejected,
    refresh,
    onDone: close,
  });
  return (
    <FormModal
      of={rejecting}
      title={texts.rejectQuestion}
      submit={texts.reject}
      permission="occurrence:approve"
      close={close}
    >
      <Text size="sm">{texts.rejectHint}</Text>
      <TextInput
        label={texts.rejectReason}
        placeholder={texts.rejectExample}
        maxLength={maxReasonLength}
        data-autofocus
        {...rejecting.form.getInputProps('reason')}
      />
    </FormModal>
  );
}
