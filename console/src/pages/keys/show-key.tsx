/** Shows a new key, which is displayed only once. */
import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { CopyBlock } from '../../components/copy.tsx';
import { FormButtons } from '../../components/form.tsx';
import { useEvents } from '../../components/use-events.ts';
import { useOrg } from '../../paths.ts';
import { shellQuoted } from '../../snippets/snippets.ts';
import { TriggerExample } from '../../snippets/trigger-example.tsx';
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
