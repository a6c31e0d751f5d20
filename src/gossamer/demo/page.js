(function(){var d=document,k='seen:'+location.pathname;
function mark(){try{var n=Number(localStorage.getItem(k)||0)+1;localStorage.setItem(k,String(n));
if(n<2&&d.body){d.body.setAttribute('data-first','yes')}}catch(e){}}
function open(e){var t=e.target;if(t&&t.className==='toggle'){var m=d.getElementById('menu');
m.hidden=!m.hidden;e.preventDefault()}}
d.addEventListener('click',open);if(d.readyState!=='loading'){mark()}else{d.addEventListener('DOMContentLoaded',mark)}})();
