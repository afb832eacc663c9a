SELECT crop
FROM beds
WHERE number = 1;
