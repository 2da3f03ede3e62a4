/** A key, the only time that it is shown. */
import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { CopyBlock } from '../../components/copy.tsx';
import { FormButtons } from '../../components/form.tsx';
import { useEvents } from '../../components/use-events.ts';
import { useOrg } from '../../places.ts';

interface ShowKeyProps {
  secret: string;
  permissions: string[];
  project?: string | null;
  application?: string | null;
  /** What else to say. */
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
  const authorization = `-H 'Authorization: Key ${secret}'`;
  const line =
    mayTrigger && event
      ? `curl -X POST ${location.origin}/api/o/${org}/p/${event.prj}/a/${event.app}/e/${event.slug}/trigger/ \\\n  ${authorization} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"context": {}}'`
      : `curl ${location.origin}/api/system/ping/ \\\n  ${authorization}`;
  return (
    <Stack gap="sm">
      <Alert color="yellow" icon={<IconKey size={18} />} title="Copy it now">
        <Text size="sm">It is shown this once. Belfry keeps only a fingerprint of it.</Text>
      </Alert>
      <CopyBlock value={secret} label="Copy the key" />
      <Text size="sm" fw={500}>
        {mayTrigger && event ? 'Trigger an event with it' : 'See that it works'}
      </Text>
      <CopyBlock value={line} label="Copy the command" />
      {children}
      <FormButtons>
        <Button onClick={onClose}>I have it</Button>
      </FormButtons>
    </Stack>
  );
}
