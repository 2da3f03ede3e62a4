/** Shows recovery codes once. The dialog closes only after the user confirms that they are saved. */
import { Alert, Button, Checkbox, CopyButton, Group, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { IconCopy, IconDownload } from '@tabler/icons-react';
import { useState } from 'react';
import { texts } from '../texts/account.ts';

/** Resolves when the user confirms that the codes are saved. */
export function showRecoveryCodes(codes: string[]): Promise<void> {
  return new Promise(resolve => {
    const id = modals.open({
      title: texts.saveYourRecoveryCodes,
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
      <Text size="sm">{texts.recoveryCodesHint}</Text>
      <ul className="codes" aria-label={texts.recoveryCodes}>
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
              {copied ? texts.copied : texts.copy}
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
          {texts.download}
        </Button>
      </Group>
      <Alert color="yellow" variant="light" p="xs">
        <Text size="sm" c="var(--mantine-color-text)">
          {texts.codesShownOnce}
        </Text>
      </Alert>
      <Checkbox
        label={texts.iHaveSavedMyRecoveryCodes}
        checked={saved}
        onChange={event => setSaved(event.currentTarget.checked)}
      />
      <Button onClick={done} disabled={!saved}>
        {texts.done}
      </Button>
    </Stack>
  );
}
