/** Two-factor authentication: an authenticator app, passkeys and recovery codes. */
import { ActionIcon, Box, Button, Group, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { modals } from '@mantine/modals';
import { IconDeviceMobile, IconFingerprint, IconLifebuoy, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, take } from '../../api.ts';
import type { TwoFactor as TwoFactorState } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { withConfirmation } from '../../components/confirm-identity.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { showRecoveryCodes } from '../../components/recovery-codes.tsx';
import { Failure } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { deviceName } from '../../device.ts';
import { createPasskey, passkeyProblem } from '../../passkeys.ts';
import { read, refreshAll } from '../../queries.ts';
import { texts } from '../../texts/account.ts';

type Passkey = TwoFactorState['passkeys'][number];

/** Refreshes after a change. Shows new recovery codes first, because refreshing the session may leave this page. */
function useRefreshAfterChange() {
  const queries = useQueryClient();
  return async (codes: string[] | null = null) => {
    await refreshAll(queries, ['/api/session/two-factor/']);
    if (codes) await showRecoveryCodes(codes);
    await refreshAll(queries, ['/api/session/']);
  };
}

export function TwoFactor() {
  const { data, error, refetch } = useQuery({
    ...read('/api/session/two-factor/', {}),
  });
  const isOn = data && (data.totp || data.passkeys.length > 0);
  return (
    <Section
      title={texts.twoFactorAuthentication}
      aside={data && <Mark color={isOn ? 'teal' : 'gray'}>{isOn ? texts.on : texts.off}</Mark>}
    >
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {data && (
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            {isOn ? texts.twoFactorOnHint : texts.twoFactorOffHint}
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
  const refreshAfterChange = useRefreshAfterChange();
  const begin = useAction({
    run: () => withConfirmation(() => take(api.POST('/api/session/totp/'))),
    onDone: enrollment => {
      const id = modals.open({
        title: texts.setUpAnAuthenticatorApp,
        children: (
          <TotpForm
            enrollment={enrollment}
            cancel={() => modals.close(id)}
            done={codes => {
              modals.close(id);
              void refreshAfterChange(codes);
            }}
          />
        ),
      });
    },
  });
  const remove = useConfirmedAction({
    question: {
      title: texts.removeAuthenticatorAppQuestion,
      children: texts.removeAuthenticatorAppHint,
      action: texts.remove,
      danger: true,
    },
    run: () => withConfirmation(() => take(api.DELETE('/api/session/totp/'))),
    done: texts.authenticatorAppRemoved,
    onDone: () => void refreshAfterChange(),
  });
  return (
    <Method
      icon={<IconDeviceMobile size={18} stroke={1.6} />}
      title={texts.authenticatorApp}
      state={totp ? <TimeAgo at={totp.created_at} text={texts.added} /> : texts.authenticatorAppHint}
      actions={
        <>
          <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate(undefined)}>
            {totp ? texts.replace : texts.setUp}
          </Button>
          {totp && (
            <Button
              variant="default"
              c="var(--mantine-color-error)"
              loading={remove.isPending}
              onClick={() => remove.ask(undefined)}
              aria-label={texts.removeAuthenticatorApp}
            >
              {texts.remove}
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
    done: texts.authenticatorAppAdded,
    onDone: ({ recovery_codes }) => done(recovery_codes),
  });
  const { form } = enrolling;
  return (
    <ApiForm
      of={enrolling}
      submit={texts.verifyAndTurnOn}
      cancel={cancel}
      isDisabled={form.values.code.trim().length < 6}
    >
      <Text size="sm">{texts.scanCode}</Text>
      <Group justify="center">
        <QrCode value={uri} label={texts.qrCode} />
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {texts.cantScanCode}
        <br />
        <CopyText value={secret} label={texts.copyTheKey} />
      </Text>
      <TextInput
        label={texts.authenticationCode}
        description={texts.enterShownCode}
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
  const refreshAfterChange = useRefreshAfterChange();
  const problem = passkeyProblem();
  const add = useAction({
    run: async () => {
      const { token, options } = await withConfirmation(() => take(api.POST('/api/session/passkeys/options/')));
      const response = await createPasskey(options);
      const name = deviceName(navigator.userAgent);
      return take(api.POST('/api/session/passkeys/', { body: { token, name, response: response as never } }));
    },
    done: texts.passkeyAdded,
    onDone: ({ recovery_codes }) => void refreshAfterChange(recovery_codes),
  });
  return (
    <Method
      icon={<IconFingerprint size={18} stroke={1.6} />}
      title={texts.passkeys}
      state={problem ?? texts.passkeysHint}
      actions={
        <Button
          variant="default"
          loading={add.isPending}
          disabled={problem !== undefined}
          onClick={() => add.mutate(undefined)}
        >
          {texts.addPasskey}
        </Button>
      }
    >
      {passkeys.length > 0 && (
        <ul className="rows" aria-label={texts.yourPasskeys}>
          {passkeys.map(passkey => (
            <PasskeyRow key={passkey.id} passkey={passkey} />
          ))}
        </ul>
      )}
    </Method>
  );
}

function PasskeyRow({ passkey: { id, name, created_at, last_used_at } }: { passkey: Passkey }) {
  const refreshAfterChange = useRefreshAfterChange();
  const remove = useConfirmedAction({
    question: {
      title: texts.removePasskeyQuestion(name),
      children: texts.removePasskeyHint,
      action: texts.remove,
      danger: true,
    },
    run: () =>
      withConfirmation(() =>
        take(api.DELETE('/api/session/passkeys/{passkey}/', { params: { path: { passkey: id } } })),
      ),
    done: texts.passkeyRemoved,
    onDone: () => void refreshAfterChange(),
  });
  const rename = () => {
    const modal = modals.open({
      title: texts.renamePasskey,
      children: (
        <RenameForm
          id={id}
          name={name}
          done={() => {
            modals.close(modal);
            void refreshAfterChange();
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
          <TimeAgo at={created_at} text={texts.added} /> ·{' '}
          {last_used_at ? <TimeAgo at={last_used_at} text={texts.lastUsed} /> : texts.neverUsed}
        </Text>
      </div>
      <Group gap={4} wrap="nowrap">
        <Tooltip label={texts.rename}>
          <ActionIcon variant="subtle" color="gray" aria-label={texts.renameItem(name)} onClick={rename}>
            <IconPencil size={15} stroke={1.6} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label={texts.remove}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={texts.removeItem(name)}
            loading={remove.isPending}
            onClick={() => remove.ask(undefined)}
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
    <ApiForm of={renaming} submit={texts.save}>
      <TextInput label={texts.name} data-autofocus {...renaming.form.getInputProps('name')} />
    </ApiForm>
  );
}

function RecoveryCodes({ left }: { left: number }) {
  const refreshAfterChange = useRefreshAfterChange();
  const renew = useConfirmedAction({
    question: { title: texts.generateCodesQuestion, children: texts.generateCodesHint, action: texts.generateNewCodes },
    run: () => withConfirmation(() => take(api.POST('/api/session/recovery-codes/'))),
    onDone: ({ recovery_codes }) => void refreshAfterChange(recovery_codes),
  });
  return (
    <Method
      icon={<IconLifebuoy size={18} stroke={1.6} />}
      title={texts.recoveryCodes}
      state={
        left > 2
          ? texts.codesLeft(left)
          : texts.fewCodesLeft(left === 0 ? texts.noCodes : left === 1 ? texts.oneCode : texts.twoCodes)
      }
      actions={
        <Button variant="default" loading={renew.isPending} onClick={() => renew.ask(undefined)}>
          {texts.generateNewCodes}
        </Button>
      }
    />
  );
}
