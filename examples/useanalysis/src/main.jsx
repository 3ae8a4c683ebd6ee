import { createRoot } from 'react-dom/client';
import { Page } from './Page.jsx';
import './style.css';

createRoot(document.getElementById('root')).render(<Page />);
