/** Verifies an address of a user: by a code that is sent to it, or without one. */
import { Button, Group, Text, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { WholeAddress } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useOrg } from '../../paths.ts';
import type { PathPrefix } from '../../queries.ts';
import { texts } from '../../texts/users.ts';

interface VerificationProps {
  username: string;
  address: WholeAddress;
  close: () => void;
}

export function Verification({ username, address: { id, value }, close }: VerificationProps) {
  const org = useOrg();
  const params = { path: { org, username, address: id } };
  const refresh: PathPrefix[] = ['/api/o/{org}/u/{username}/addresses/'];
  const outcome = { done: texts.verifiedAddress(value), refresh, onDone: close };
  const sending = useAction({
    run: () => take(api.POST('/api/o/{org}/u/{username}/addresses/{address}/verification/', { params })),
  });
  const marking = useAction({
    ...outcome,
    run: () => take(api.PATCH('/api/o/{org}/u/{username}/addresses/{address}/', { params, body: { verified: true } })),
  });
  const confirming = useApiForm({
    ...outcome,
    initialValues: { code: '' },
    run: body =>
      take(api.POST('/api/o/{org}/u/{username}/addresses/{address}/verification/confirm/', { params, body })),
  });
  const sent = sending.data;
  return (
    <FormModal
      title={texts.verifyAddress(value)}
      close={close}
      of={confirming}
      submit={texts.verify}
      isDisabled={!confirming.form.values.code}
    >
      <Text size="sm">{texts.verifyHint}</Text>
      <Group gap="xs">
        <Button variant="default" loading={sending.isPending} onClick={() => sending.mutate()}>
          {texts.sendCode}
        </Button>
        <Button variant="subtle" loading={marking.isPending} onClick={() => marking.mutate()}>
          {texts.markVerified}
        </Button>
      </Group>
      {sent && (
        <Text size="sm" role="status">
          {sent.text === null ? texts.sentCode(sent.channel) : texts.sandboxCode(sent.text)}
        </Text>
      )}
      <TextInput
        label={texts.code}
        description={texts.codeHint}
        inputMode="numeric"
        autoComplete="off"
        {...confirming.form.getInputProps('code')}
      />
    </FormModal>
  );
}
