/** Smaller controls that need a permission, like GuardedButton: without it they are disabled and explain why. */
import { ActionIcon, type ActionIconProps, Menu, Switch, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRefusal } from '../session.tsx';

interface GuardedIconProps extends ActionIconProps {
  permission: string;
  /** Accessible name and tooltip. */
  label: string;
  onClick: () => void;
}

export function GuardedIcon({ permission, label, onClick, ...props }: GuardedIconProps) {
  const refusal = useRefusal()(permission);
  return (
    <Tooltip label={refusal ?? label} multiline maw={280}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        {...props}
        {...(refusal ? { 'data-disabled': true, 'aria-disabled': true } : { onClick })}
      />
    </Tooltip>
  );
}

export function GuardedSwitch({
  permission,
  label,
  checked,
  isLocked = false,
  onChange,
}: {
  permission: string;
  label: string;
  checked: boolean;
  /** Whether the value is fixed for everyone. */
  isLocked?: boolean;
  onChange: (checked: boolean) => void;
}) {
  const refusal = useRefusal()(permission);
  return (
    <Tooltip label={refusal ?? label} multiline maw={280} refProp="rootRef">
      <Switch
        size="xs"
        aria-label={label}
        checked={checked}
        disabled={isLocked || refusal !== undefined}
        onChange={event => onChange(event.currentTarget.checked)}
      />
    </Tooltip>
  );
}

export function GuardedItem({
  permission,
  icon,
  danger = false,
  onClick,
  children,
}: {
  permission: string;
  icon?: ReactNode;
  danger?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  const refusal = useRefusal()(permission);
  return (
    <Menu.Item
      leftSection={icon}
      c={danger ? 'var(--mantine-color-error)' : undefined}
      disabled={refusal !== undefined}
      title={refusal}
      onClick={onClick}
    >
      {children}
    </Menu.Item>
  );
}
