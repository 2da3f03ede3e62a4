import { ActionIcon, Menu, Text } from '@mantine/core';
import { IconBook2, IconHelp, IconKeyboard, IconLogout, IconUser, IconUserCircle } from '@tabler/icons-react';
import { Link } from 'react-router';
import { to } from '../paths.ts';
import { useOrganization, useSession } from '../session.tsx';
import { texts } from '../texts/common.ts';
import { openShortcutHelp } from './shortcuts.tsx';
import { useSignOut } from './use-sign-out.ts';

export function AccountMenu() {
  const { account } = useSession();
  const organization = useOrganization();
  const signOut = useSignOut();
  return (
    <Menu position="bottom-end" width={220} shadow="md" keepMounted={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Account: ${account.email}`}>
          <IconUserCircle size={19} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text component="span" display="block" size="sm" fw={600} c="var(--mantine-color-text)" truncate>
            {account.name || account.email}
          </Text>
          <Text component="span" display="block" size="xs" c="dimmed" truncate>
            {account.email}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        {organization && (
          <Menu.Item
            component={Link}
            to={to.account(organization.slug)}
            leftSection={<IconUser size={15} stroke={1.6} />}
          >
            {texts.yourAccount}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconKeyboard size={15} stroke={1.6} />} onClick={openShortcutHelp}>
          {texts.keyboardShortcuts}
        </Menu.Item>
        <Menu.Item leftSection={<IconHelp size={15} stroke={1.6} />} component="a" href="/docs/guides">
          {texts.guides}
        </Menu.Item>
        <Menu.Item leftSection={<IconBook2 size={15} stroke={1.6} />} component="a" href="/docs">
          {texts.apiReference}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={15} stroke={1.6} />} onClick={() => void signOut()}>
          {texts.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
