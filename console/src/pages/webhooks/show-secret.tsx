/** Shows a signing secret, which is displayed only once. */
import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { CopyBlock } from '../../components/copy.tsx';
import { FormButtons } from '../../components/form.tsx';
import { texts } from '../../texts/webhooks.ts';

interface ShowSecretProps {
  secret: string;
  /** Additional note. */
  note?: string;
  onClose: () => void;
}

export function ShowSecret({ secret, note, onClose }: ShowSecretProps) {
  return (
    <Stack gap="sm">
      <Alert color="yellow" icon={<IconKey size={18} />} title={texts.copyItNow}>
        <Text size="sm">{texts.secretHint}</Text>
      </Alert>
      <CopyBlock value={secret} label={texts.copySecret} />
      {note && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
      <FormButtons>
        <Button onClick={onClose}>{texts.copiedIt}</Button>
      </FormButtons>
    </Stack>
  );
}
