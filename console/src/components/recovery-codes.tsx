/** Recovery codes, shown once: copied, downloaded or printed, and only then closed. */
import { Alert, Button, Checkbox, CopyButton, Group, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { IconCopy, IconDownload } from '@tabler/icons-react';
import { useState } from 'react';

/** Resolves when they say that they have them. */
export function showRecoveryCodes(codes: string[]): Promise<void> {
  return new Promise(resolve => {
    const id = modals.open({
      title: 'Save your recovery codes',
      withCloseButton: false,
      closeOnClickOutside: false,
      closeOnEscape: false,
      children: <RecoveryCodes codes={codes} done={() => modals.close(id)} />,
      onClose: resolve,
    });
  });
}

function RecoveryCodes({ codes, done }: { codes: string[]; done: () => void }) {
  const [saved, setSaved] = useState(false);
  const text = `${codes.join('\n')}\n`;
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Belfry recovery codes for ${location.host}\n\n${text}`)}`;
  return (
    <Stack gap="sm">
      <Text size="sm">
        If you lose your phone or security key, one of these codes gets you in. Each code works once.
      </Text>
      <ul className="codes" aria-label="Recovery codes">
        {codes.map(code => (
          <li key={code} className="mono">
            {code}
          </li>
        ))}
      </ul>
      <Group gap="xs">
        <CopyButton value={text} timeout={1_500}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<IconCopy size={15} stroke={1.6} />} onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button
          variant="default"
          component="a"
          href={file}
          download="belfry-recovery-codes.txt"
          leftSection={<IconDownload size={15} stroke={1.6} />}
        >
          Download
        </Button>
      </Group>
      <Alert color="yellow" variant="light" p="xs">
        <Text size="sm" c="var(--mantine-color-text)">
          You won’t see these codes again. Keep them somewhere safe, such as a password manager.
        </Text>
      </Alert>
      <Checkbox
        label="I have saved my recovery codes"
        checked={saved}
        onChange={event => setSaved(event.currentTarget.checked)}
      />
      <Button onClick={done} disabled={!saved}>
        Done
      </Button>
    </Stack>
  );
}
