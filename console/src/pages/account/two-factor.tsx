/** How you sign in besides your password: an authenticator app, passkeys, and recovery codes for when both are lost. */
import { ActionIcon, Box, Button, Group, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { modals } from '@mantine/modals';
import { IconDeviceMobile, IconFingerprint, IconLifebuoy, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, take } from '../../api.ts';
import type { TwoFactor as TwoFactorState } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { confirm } from '../../components/confirm.tsx';
import { withConfirmation } from '../../components/confirm-identity.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { showRecoveryCodes } from '../../components/recovery-codes.tsx';
import { Failure } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { deviceName } from '../../device.ts';
import { createPasskey, passkeyObstacle } from '../../passkeys.ts';
import { sessionQuery } from '../../session.tsx';

type Passkey = TwoFactorState['passkeys'][number];
const queryKey = ['two-factor'];

/** After a change: the codes first, for what follows may leave this page. */
function useChanged() {
  const queries = useQueryClient();
  return async (codes: string[] | null = null) => {
    await queries.invalidateQueries({ queryKey });
    if (codes) await showRecoveryCodes(codes);
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
}

export function TwoFactor() {
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => take(api.GET('/api/session/two-factor/', { signal })),
  });
  const isOn = data && (data.totp || data.passkeys.length > 0);
  return (
    <Section
      title="Two-factor authentication"
      aside={data && <Mark color={isOn ? 'teal' : 'gray'}>{isOn ? 'On' : 'Off'}</Mark>}
    >
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {data && (
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            {isOn
              ? 'When you sign in with your password, you also need one of these.'
              : 'Add a second step to your sign-in, so that your password alone is not enough.'}
          </Text>
          <AuthenticatorApp totp={data.totp} />
          <Passkeys passkeys={data.passkeys} />
          {isOn && <RecoveryCodes left={data.recovery_codes} />}
        </Stack>
      )}
    </Section>
  );
}

interface MethodProps {
  icon: ReactNode;
  title: string;
  state: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}

function Method({ icon, title, state, actions, children }: MethodProps) {
  return (
    <Stack gap="xs" role="group" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="xs">
        <Group gap="sm" wrap="nowrap" align="flex-start" miw={0} flex="1 1 220px">
          <Text component="span" c="dimmed" lh={0} pt={2} aria-hidden>
            {icon}
          </Text>
          <div>
            <Text size="sm" fw={500}>
              {title}
            </Text>
            <Text component="div" size="xs" c="dimmed">
              {state}
            </Text>
          </div>
        </Group>
        <Group gap="xs">{actions}</Group>
      </Group>
      {children && <Box pl={30}>{children}</Box>}
    </Stack>
  );
}

function AuthenticatorApp({ totp }: { totp: TwoFactorState['totp'] }) {
  const changed = useChanged();
  const begin = useAction({
    run: () => withConfirmation(() => take(api.POST('/api/session/totp/'))),
    onDone: enrollment => {
      const id = modals.open({
        title: 'Set up an authenticator app',
        children: (
          <TotpForm
            enrollment={enrollment}
            cancel={() => modals.close(id)}
            done={codes => {
              modals.close(id);
              void changed(codes);
            }}
          />
        ),
      });
    },
  });
  const remove = useAction({
    run: () => withConfirmation(() => take(api.DELETE('/api/session/totp/'))),
    done: 'Authenticator app removed.',
    onDone: () => void changed(),
  });
  const askRemove = async () => {
    const sure = await confirm({
      title: 'Remove the authenticator app?',
      children:
        'Its codes stop working. Organizations that require two-factor authentication may ask you to set it up again.',
      action: 'Remove',
      danger: true,
    });
    if (sure) remove.mutate(undefined);
  };
  return (
    <Method
      icon={<IconDeviceMobile size={18} stroke={1.6} />}
      title="Authenticator app"
      state={totp ? <TimeAgo at={totp.created_at} prefix="Added " /> : 'Six-digit codes from an app on your phone.'}
      actions={
        <>
          <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate(undefined)}>
            {totp ? 'Replace' : 'Set up'}
          </Button>
          {totp && (
            <Button
              variant="default"
              c="var(--mantine-color-error)"
              loading={remove.isPending}
              onClick={() => void askRemove()}
              aria-label="Remove the authenticator app"
            >
              Remove
            </Button>
          )}
        </>
      }
    />
  );
}

interface TotpFormProps {
  enrollment: { token: string; secret: string; uri: string };
  done: (codes: string[] | null) => void;
  cancel: () => void;
}

function TotpForm({ enrollment: { token, secret, uri }, done, cancel }: TotpFormProps) {
  const enrolling = useApiForm({
    initialValues: { code: '' },
    run: ({ code }) => take(api.POST('/api/session/totp/confirm/', { body: { token, code } })),
    done: 'Authenticator app added.',
    onDone: ({ recovery_codes }) => done(recovery_codes),
  });
  const { form } = enrolling;
  return (
    <ApiForm of={enrolling} submit="Verify and turn on" cancel={cancel} isDisabled={form.values.code.trim().length < 6}>
      <Text size="sm">Scan this code with an authenticator app, such as 1Password, Authy or Google Authenticator.</Text>
      <Group justify="center">
        <QrCode value={uri} label="QR code for your authenticator app" />
      </Group>
      <Text size="xs" c="dimmed" component="div">
        Can’t scan it? Enter this key instead:
        <br />
        <CopyText value={secret} label="Copy the key" />
      </Text>
      <TextInput
        label="Authentication code"
        description="The six digits the app shows now."
        autoComplete="one-time-code"
        inputMode="numeric"
        className="code-input"
        data-autofocus
        {...form.getInputProps('code')}
      />
    </ApiForm>
  );
}

function Passkeys({ passkeys }: { passkeys: Passkey[] }) {
  const changed = useChanged();
  const obstacle = passkeyObstacle();
  const add = useAction({
    run: async () => {
      const { token, options } = await withConfirmation(() => take(api.POST('/api/session/passkeys/options/')));
      const response = await createPasskey(options);
      const name = deviceName(navigator.userAgent);
      return take(api.POST('/api/session/passkeys/', { body: { token, name, response: response as never } }));
    },
    done: 'Passkey added.',
    onDone: ({ recovery_codes }) => void changed(recovery_codes),
  });
  return (
    <Method
      icon={<IconFingerprint size={18} stroke={1.6} />}
      title="Passkeys"
      state={obstacle ?? 'Your fingerprint, face, PIN or security key. Also signs you in without a password.'}
      actions={
        <Button
          variant="default"
          loading={add.isPending}
          disabled={obstacle !== undefined}
          onClick={() => add.mutate(undefined)}
        >
          Add passkey
        </Button>
      }
    >
      {passkeys.length > 0 && (
        <ul className="rows" aria-label="Your passkeys">
          {passkeys.map(passkey => (
            <PasskeyRow key={passkey.id} passkey={passkey} />
          ))}
        </ul>
      )}
    </Method>
  );
}

function PasskeyRow({ passkey: { id, name, created_at, last_used_at } }: { passkey: Passkey }) {
  const changed = useChanged();
  const remove = useAction({
    run: () =>
      withConfirmation(() =>
        take(api.DELETE('/api/session/passkeys/{passkey}/', { params: { path: { passkey: id } } })),
      ),
    done: 'Passkey removed.',
    onDone: () => void changed(),
  });
  const askRemove = async () => {
    const sure = await confirm({
      title: `Remove the passkey “${name}”?`,
      children: 'You can no longer sign in with it. Delete it from your device as well.',
      action: 'Remove',
      danger: true,
    });
    if (sure) remove.mutate(undefined);
  };
  const rename = () => {
    const modal = modals.open({
      title: 'Rename passkey',
      children: (
        <RenameForm
          id={id}
          name={name}
          done={() => {
            modals.close(modal);
            void changed();
          }}
        />
      ),
    });
  };
  return (
    <li>
      <div>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          <TimeAgo at={created_at} prefix="Added " /> ·{' '}
          {last_used_at ? <TimeAgo at={last_used_at} prefix="last used " /> : 'never used'}
        </Text>
      </div>
      <Group gap={4} wrap="nowrap">
        <Tooltip label="Rename">
          <ActionIcon variant="subtle" color="gray" aria-label={`Rename ${name}`} onClick={rename}>
            <IconPencil size={15} stroke={1.6} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Remove">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove ${name}`}
            loading={remove.isPending}
            onClick={() => void askRemove()}
          >
            <IconTrash size={15} stroke={1.6} />
          </ActionIcon>
        </Tooltip>
      </Group>
    </li>
  );
}

function RenameForm({ id, name, done }: { id: number; name: string; done: () => void }) {
  const renaming = useApiForm({
    initialValues: { name },
    run: body => take(api.PATCH('/api/session/passkeys/{passkey}/', { params: { path: { passkey: id } }, body })),
    onDone: done,
  });
  return (
    <ApiForm of={renaming} submit="Save">
      <TextInput label="Name" data-autofocus {...renaming.form.getInputProps('name')} />
    </ApiForm>
  );
}

function RecoveryCodes({ left }: { left: number }) {
  const changed = useChanged();
  const renew = useAction({
    run: () => withConfirmation(() => take(api.POST('/api/session/recovery-codes/'))),
    onDone: ({ recovery_codes }) => void changed(recovery_codes),
  });
  const ask = async () => {
    const sure = await confirm({
      title: 'Generate new recovery codes?',
      children: 'The codes you have now stop working.',
      action: 'Generate new codes',
    });
    if (sure) renew.mutate(undefined);
  };
  return (
    <Method
      icon={<IconLifebuoy size={18} stroke={1.6} />}
      title="Recovery codes"
      state={
        left > 2
          ? `${left} of 10 codes left.`
          : `${left === 0 ? 'No codes' : left === 1 ? 'One code' : 'Two codes'} left: generate new ones.`
      }
      actions={
        <Button variant="default" loading={renew.isPending} onClick={() => void ask()}>
          Generate new codes
        </Button>
      }
    />
  );
}
