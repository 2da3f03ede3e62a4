/** Leaves for the identity provider, and returns to the path `to` of this console. */
import { Button } from '@mantine/core';
import { IconLogin2 } from '@tabler/icons-react';
import { texts } from '../texts/account.ts';

interface ProviderButtonProps {
  name: string;
  to: string;
  /** The provider asks for the credentials again, to confirm the identity of the signed-in user. */
  confirm?: boolean;
  /** Nothing in the form leaves the page. */
  newTab?: boolean;
}

export function ProviderButton({ name, to, confirm, newTab }: ProviderButtonProps) {
  const query = new URLSearchParams({ ...(to !== '/' && { to }), ...(confirm && { confirm: 'true' }) }).toString();
  return (
    <Button
      component="a"
      href={`/api/session/oidc/${query && `?${query}`}`}
      {...(newTab && { target: '_blank', rel: 'noopener' })}
      variant="default"
      size="sm"
      fullWidth
      leftSection={<IconLogin2 size={16} stroke={1.6} />}
    >
      {texts.continueWith(name)}
    </Button>
  );
}
