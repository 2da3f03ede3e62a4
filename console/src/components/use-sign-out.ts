import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api } from '../api.ts';
import { showError } from './actions.tsx';

export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return async () => {
    try {
      await api.DELETE('/api/session/');
      queries.clear();
      navigate('/sign-in', { replace: true });
    } catch (error) {
      showError(error);
    }
  };
}
