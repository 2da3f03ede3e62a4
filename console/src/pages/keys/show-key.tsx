/** Shows a new key, which is displayed only once. */
import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { CopyBlock } from '../../components/copy.tsx';
import { FormButtons } from '../../components/form.tsx';
import { useEvents } from '../../components/use-events.ts';
import { type EventPath, useSample } from '../../events/sample.ts';
import { findSample } from '../../events/samples.ts';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useCan, useSession } from '../../session.tsx';
import { shellQuoted } from '../../snippets/snippets.ts';
import { TriggerSnippets, triggerUrl } from '../../snippets/trigger-snippets.tsx';
import { texts } from '../../texts/keys.ts';

interface ShowKeyProps {
  secret: string;
  permissions: string[];
  project?: string | null;
  application?: string | null;
  /** Additional notes. */
  children?: React.ReactNode;
  onClose: () => void;
}

export function ShowKey({ secret, permissions, project, application, children, onClose }: ShowKeyProps) {
  const org = useOrg();
  const { data } = useEvents();
  const event = data?.events.find(
    ({ prj, app }) => (!project || prj === project) && (!application || app === application),
  );
  const mayTrigger = permissions.includes('event:trigger') || permissions.includes('*');
  const ping = `curl ${location.origin}/api/system/ping/ \\\n  -H ${shellQuoted(`Authorization: Key ${secret}`)}`;
  return (
    <Stack gap="sm">
      <Alert color="yellow" icon={<IconKey size={18} />} title={texts.copyItNow}>
        <Text size="sm">{texts.keyShownOnce}</Text>
      </Alert>
      <CopyBlock value={secret} label={texts.copyTheKey} />
      <Text size="sm" fw={500}>
        {mayTrigger && event ? texts.triggerAnEvent : texts.checkTheKey}
      </Text>
      {mayTrigger && event ? (
        <TriggerExample path={{ org, prj: event.prj, app: event.app, evt: event.slug }} apiKey={secret} />
      ) : (
        <CopyBlock value={ping} label={texts.copyTheCommand} />
      )}
      {children}
      <FormButtons>
        <Button onClick={onClose}>{texts.iveCopiedIt}</Button>
      </FormButtons>
    </Stack>
  );
}

/** A trigger that works as it is pasted: with the event's own context, and with a recipient where the trigger names them. */
function TriggerExample({ path, apiKey }: { path: EventPath; apiKey: string }) {
  const { evt } = path;
  const can = useCan();
  const { account } = useSession();
  const sample = useSample(path);
  const notifications = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/', { path }),
    enabled: can('notification:read'),
  });
  // Without the right to read them, a recipient that no notification asks for does no harm.
  const takesRecipients = notifications.data?.some(one => one.recipients.trigger) ?? true;
  const context = Object.keys(sample.context ?? {}).length > 0 ? sample.context : findSample(evt)?.context;
  return (
    <TriggerSnippets
      url={triggerUrl(path)}
      apiKey={apiKey}
      body={{
        context: context ?? {},
        options: { ...(takesRecipients && { recipients: [account.email.toLowerCase()] }), dry_run: true },
      }}
    />
  );
}
