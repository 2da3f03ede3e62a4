/** Warns about disabled webhooks, if the user can view them. */
import { Alert, Anchor, Text } from '@mantine/core';
import { IconWebhook } from '@tabler/icons-react';
import { Link } from 'react-router';
import { to, useOrg } from '../../paths.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/overview.ts';

export function DisabledWebhooks({ count }: { count: number }) {
  const org = useOrg();
  const can = useCan();
  if (count === 0 || !can('webhook:read')) return null;
  return (
    <Alert color="red" variant="light" p="xs" pl="sm" mb="md" icon={<IconWebhook size={17} stroke={1.8} />}>
      <Text size="sm" c="var(--mantine-color-text)">
        <Text component="span" inherit fw={600}>
          {texts.disabledCount(count)}.
        </Text>{' '}
        {texts.disabledCountHint}{' '}
        <Anchor component={Link} to={to.webhooks(org)} inherit>
          {texts.showWebhooks}
        </Anchor>
      </Text>
    </Alert>
  );
}
